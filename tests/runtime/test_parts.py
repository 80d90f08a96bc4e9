"""The small parts: modes, schedule, generators, devices, stopping."""

from __future__ import annotations

import os
import random
import signal
import threading

import numpy as np
import pytest
import torch
from torch import nn

from torchlint.runtime import data
from torchlint.runtime.devices import resolve
from torchlint.runtime.distributed import World
from torchlint.runtime.errors import UserError
from torchlint.runtime.model import SmallNet, build_model, input_shape
from torchlint.runtime.modes import evaluating
from torchlint.runtime.schedule import learning_rate_factor
from torchlint.runtime.seeding import rng_state, seed_everything, set_rng_state
from torchlint.runtime.stopping import stop_on_signals

CPU = torch.device("cpu")
ALONE = World(rank=0, size=1, local_size=1, device=CPU)


def test_evaluating_gives_every_module_its_mode_back() -> None:
    model = SmallNet(1, 8, 10)
    model.features[1].eval()  # a batch norm that was frozen on purpose
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert torch.is_inference_mode_enabled()
    assert model.training
    assert not model.features[1].training
    assert model.features[4].training


def test_evaluating_ends_with_an_exception() -> None:
    model = nn.Dropout()
    with pytest.raises(ZeroDivisionError), evaluating(model):
        raise ZeroDivisionError
    assert model.training
    assert not torch.is_inference_mode_enabled()


def test_evaluating_keeps_eval_mode() -> None:
    model = nn.Dropout().eval()
    with evaluating(model):
        pass
    assert not model.training


def test_measuring_does_not_change_the_model() -> None:
    model = SmallNet(1, 8, 10)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with evaluating(model):
        outputs = [model(torch.full((4, 1, 8, 8), 3.0)) for _ in range(2)]
    assert torch.equal(outputs[0], outputs[1])
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_default_model_depends_on_the_mode_and_plain_does_not() -> None:
    picture = torch.randn(4, 1, 8, 8)
    for plain in (False, True):
        model = SmallNet(1, 8, 10, plain=plain)
        in_train = model(picture)
        with evaluating(model):
            assert torch.equal(model(picture), in_train) == plain


@pytest.mark.parametrize("size", [4, 5, 8, 15, 28, 32, 64])
def test_small_model_takes_any_size(size: int) -> None:
    assert build_model("small", 1, size, 7)(torch.zeros(2, 1, size, size)).shape == (2, 7)


@pytest.mark.parametrize("name", ["googlenet", "resnet18", "alexnet"])
def test_torchvision_models_answer_with_one_tensor(name: str) -> None:
    channels, size = input_shape(name, (1, 8), None)
    logits = build_model(name, channels, size, 5)(torch.zeros(2, channels, size, size))
    assert logits.shape == (2, 5)


def test_learning_rate_follows_the_step() -> None:
    factor = [learning_rate_factor(step, 100, 0.1, "cosine") for step in range(100)]
    assert factor[0] == pytest.approx(1 / 11)
    assert factor[10] == 1.0
    assert factor == [*sorted(factor[:10]), *sorted(factor[10:], reverse=True)]
    assert 0 < factor[-1] < 0.001
    assert learning_rate_factor(55, 100, 0.1, "linear") == pytest.approx(0.5)
    assert learning_rate_factor(99, 100, 0.1, "constant") == 1.0
    assert learning_rate_factor(0, 100, 0.0, "cosine") == 1.0
    assert learning_rate_factor(150, 100, 0.0, "linear") == 0.0


def draws() -> list[float]:
    return [
        random.random(),
        float(np.random.rand()),
        float(np.random.randn()),
        random.gauss(0, 1),
        float(torch.rand(())),
    ]


def test_generators_come_back() -> None:
    seed_everything(3)
    draws()
    state = rng_state(CPU)
    expected = draws()
    set_rng_state(state, CPU)
    assert draws() == expected


def test_generator_state_is_plain_data(tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "rng.pt")
    torch.save(rng_state(CPU), path)
    loaded = torch.load(path, map_location="cpu", weights_only=True)
    set_rng_state(loaded, CPU)


def test_devices() -> None:
    assert resolve("cpu") == resolve("cpu:0") == CPU
    if not torch.accelerator.is_available():
        assert resolve("auto") == CPU
        with pytest.raises(UserError, match="only its CPU"):
            resolve("cuda")
    for wrong in ("gpu", "cuda:x", "", "meta"):
        with pytest.raises(UserError, match="--device"):
            resolve(wrong)


def test_workers_are_counted_from_the_cores_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = torch.device("cuda", 0)
    for cores, size, device, expected in [
        (16, 1, CPU, 4),
        (2, 1, CPU, 2),
        (1, 1, CPU, 0),
        (1, 1, accelerator, 1),
        (8, 4, accelerator, 2),
        (4, 4, accelerator, 1),
        (4, 8, CPU, 0),
    ]:
        monkeypatch.setattr(data, "usable_cores", lambda cores=cores: cores)
        world = World(rank=0, size=size, local_size=size, device=device)
        assert data.auto_workers(False, world) == expected
        assert data.auto_workers(True, world) == 0


def test_usable_cores_respects_affinity() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert data.usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert 1 <= data.usable_cores() <= len(allowed)


def test_signal_is_noted_once_and_then_acts_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals() as stop:
        assert stop.signal is None
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    seen = []

    def elsewhere() -> None:
        with stop_on_signals() as stop:
            seen.append(stop.signal)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [None]
