"""Scripts in processes of their own, forked from a server that has imported PyTorch once instead of each anew."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import sys
import threading
import traceback
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "torch._dynamo", "torch.utils.tensorboard", "torch.utils.data", "torchvision"])


def run_forked(script: Path, arguments: tuple[str, ...], patience: int) -> tuple[int, str, str]:
    """Run a script to its end as ``python script arguments`` would; the status and what it wrote to both streams."""
    out, err = script.with_suffix(".out"), script.with_suffix(".err")
    process = CONTEXT.Process(target=_child, args=(str(script), arguments, str(out), str(err), dict(os.environ)))
    process.start()
    process.join(timeout=patience)
    if process.exitcode is None:
        process.kill()
        raise AssertionError(f"hangs after: {out.read_text('utf-8')}{err.read_text('utf-8')}")
    return process.exitcode, out.read_text("utf-8"), err.read_text("utf-8")


def _child(script: str, arguments: tuple[str, ...], out: str, err: str, env: dict[str, str]) -> None:
    import torch

    for path, stream in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.stdin = open(os.devnull, encoding="ascii")  # noqa: SIM115
    os.environ.update(env)
    os.chdir(os.path.dirname(script))
    torch.set_num_threads(1)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter does when a script ends
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
