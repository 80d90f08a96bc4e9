"""Changes made to a process before it trains: kills at chosen moments, a forgotten transfer, a crash on one rank."""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import torch


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(seconds: float) -> None:
    """SIGKILL when this process has computed for `seconds`, whatever it is doing then.

    Counted in the process's own time, so that a busy machine does not shift all kills to the start.
    """
    end = time.process_time() + seconds

    def watch() -> None:
        while time.process_time() < end:
            time.sleep(0.001)
        die()

    threading.Thread(target=watch, daemon=True).start()


def kill_at(point: str, number: int) -> None:
    """SIGKILL at the `number`-th passage of a point inside a save."""
    if point == "half written":
        whole = torch.save

        def half(state: Any, file: Any) -> None:
            buffer = io.BytesIO()
            whole(state, buffer)
            file.write(buffer.getvalue()[: buffer.tell() // 2])
            file.flush()
            die()

        torch.save = nth(number, half, whole)
        return
    when, name = point.split()
    original = getattr(os, name)

    def before(*arguments: Any, **options: Any) -> None:
        die()

    def after(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        die()

    setattr(os, name, nth(number, {"before": before, "after": after}[when], original))


def nth(number: int, special: Callable[..., Any], ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is `special` in its `number`-th call (from 1) and `ordinary` in all others."""
    calls = 0

    def either(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return (special if calls == number else ordinary)(*arguments, **options)

    return either


def raise_signal_at_step(number: int, step: int) -> None:
    """Send this process and its loader workers signal `number` in its `step`-th optimizer step, as a terminal does."""
    original = torch.optim.AdamW.step

    def signalled(*arguments: Any, **options: Any) -> Any:
        for worker in multiprocessing.active_children():
            os.kill(worker.pid or 0, number)
        os.kill(os.getpid(), number)
        return original(*arguments, **options)

    torch.optim.AdamW.step = nth(step, signalled, original)  # type: ignore[method-assign]


def raise_signal_in_validation(number: int) -> None:
    """Send this process signal `number` at the beginning of its first validation."""
    from torchlint.runtime import trainer

    original = trainer.validate

    def signalled(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), number)
        return original(*arguments, **options)

    trainer.validate = nth(1, signalled, original)


def use_float64() -> None:
    """Train in double precision, so that what is left of a difference is not rounding."""
    from torchlint.runtime import datasets

    original = datasets.read_digits

    def read_double() -> tuple[torch.Tensor, torch.Tensor]:
        images, labels = original()
        return images.double(), labels

    datasets.read_digits = read_double
    torch.set_default_dtype(torch.float64)


def compile_eagerly() -> None:
    """Let `module.compile()` trace the model and run what it found as it is."""
    original = torch.nn.Module.compile

    def eagerly(module: torch.nn.Module) -> None:
        original(module, backend="eager")

    torch.nn.Module.compile = eagerly  # type: ignore[method-assign,assignment]


def lose_checkpoint() -> None:
    """Make this process find no checkpoint."""
    from torchlint.runtime import evaluation
    from torchlint.runtime.errors import UserError

    def lost(path: Any) -> Any:
        raise UserError("planted loss")

    evaluation.load = lost


def crash_at_step(step: int) -> None:
    """Raise an exception that nobody expects in the `step`-th optimizer step."""
    original = torch.optim.AdamW.step

    def crash(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("planted crash")

    torch.optim.AdamW.step = nth(step, crash, original)  # type: ignore[method-assign]


def limit_file_size(size: int) -> None:
    """Let no file of this process grow beyond `size` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead of the end
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def use_fake_accelerator() -> None:
    """Give this process an accelerator."""
    from runtime_support.fake_accelerator import install

    install()


def forget_labels() -> None:
    """Give this process an accelerator, and a trainer that forgets to move the labels to it."""
    use_fake_accelerator()
    original = torch.Tensor.to

    def forgetful(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        if tensor.dtype == torch.int64 and tensor.dim() == 1 and options.get("non_blocking"):
            return tensor
        return original(tensor, *arguments, **options)

    torch.Tensor.to = forgetful  # type: ignore[method-assign,assignment]
