"""Weights of wrapped and plain models in every direction, and files from devices this machine does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from runtime_support.forging import save_as_if_on
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

from torchlint.runtime.checkpoint import read_plain
from torchlint.runtime.errors import UserError
from torchlint.runtime.model import SmallNet
from torchlint.runtime.scenarios import retag, scenarios
from torchlint.runtime.weights import load_weights, unwrap, unwrapped_keys


@pytest.fixture
def group(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A group of one process, so that a model can be wrapped for distributed training."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def net(seed: int) -> SmallNet:
    torch.manual_seed(seed)
    return SmallNet(channels=1, size=8, classes=10)


WRAPPERS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "plain": lambda model: model,
    "DataParallel": nn.DataParallel,
    "DistributedDataParallel": DistributedDataParallel,
    "torch.compile": lambda model: torch.compile(model),  # type: ignore[dict-item]
    "compiled DistributedDataParallel": lambda model: torch.compile(DistributedDataParallel(model)),  # type: ignore[dict-item]
    "AveragedModel": AveragedModel,
}


@pytest.mark.parametrize("into", WRAPPERS)
@pytest.mark.parametrize("saved", WRAPPERS)
@pytest.mark.usefixtures("group")
def test_every_wrapper_loads_into_every_other(tmp_path: Path, saved: str, into: str) -> None:
    source, target = WRAPPERS[saved](net(1)), WRAPPERS[into](net(2))
    save_as_if_on("cuda:0", source.state_dict(), tmp_path / "weights.pt")
    load_weights(target, read_plain(tmp_path / "weights.pt"), "weights.pt")
    for name, tensor in unwrap(source).state_dict().items():
        assert torch.equal(unwrap(target).state_dict()[name], tensor), name


def test_model_with_a_child_called_module_is_left_alone() -> None:
    """Every key of such a model begins with `module.`, and none of it is a wrapper's prefix."""

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = nn.Linear(2, 2)

    weights = Outer().state_dict()
    assert list(unwrapped_keys(weights, Outer().state_dict())) == ["module.weight", "module.bias"]


def test_layer_versions_survive() -> None:
    """`_metadata` carries the versions by which old weights are converted; taking a prefix off must keep it."""
    bare = unwrapped_keys(nn.DataParallel(net(1)).state_dict(), net(2).state_dict())
    assert bare._metadata["features.1"] == {"version": 2}  # type: ignore[attr-defined]


def test_weights_of_another_model_are_refused_whole() -> None:
    target, before = net(2), net(2).state_dict()
    with pytest.raises(UserError, match=r"another model; tensors .* missing .*unknown .*of another shape"):
        load_weights(target, {"features.0.weight": torch.zeros(1), "other": torch.zeros(1)}, "x.pt")
    assert all(torch.equal(before[name], tensor) for name, tensor in target.state_dict().items())


@pytest.mark.parametrize("device", ["cuda:0", "cuda:3", "mps", "xpu:1"])
@pytest.mark.parametrize("zipped", [True, False])
def test_files_from_other_devices_are_read(tmp_path: Path, device: str, zipped: bool) -> None:
    save_as_if_on(device, net(1).state_dict(), tmp_path / "weights.pt", zipped=zipped)
    with pytest.raises(RuntimeError):
        torch.load(tmp_path / "weights.pt", map_location=None, weights_only=True)
    weights = read_plain(tmp_path / "weights.pt")
    assert {tensor.device.type for tensor in weights.values()} == {"cpu"}
    assert torch.equal(weights["head.2.weight"], net(1).state_dict()["head.2.weight"])


def test_optimizer_state_from_another_device_goes_on(tmp_path: Path) -> None:
    """A whole checkpoint, optimizer included, that claims to be from a GPU trains on here."""
    model = net(1)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.zeros(2, 1, 8, 8)).sum().backward()
    optimizer.step()
    save_as_if_on("cuda:0", {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "all.pt")
    content = read_plain(tmp_path / "all.pt")
    other = net(2)
    load_weights(other, content["model"], "all.pt")
    again = torch.optim.AdamW(other.parameters())
    again.load_state_dict(content["optimizer"])
    other(torch.zeros(2, 1, 8, 8)).sum().backward()
    again.step()
    assert {tensor.device.type for state in again.state.values() for tensor in state.values()} == {"cpu"}


def test_scenarios_on_this_machine(tmp_path: Path) -> None:
    rows = {row.name: row for row in scenarios(tmp_path)}
    assert list(rows) == ["CPU -> CPU", "GPU -> GPU", "GPU -> CPU", "multi-GPU -> single", "single -> multi-GPU"]
    assert rows["CPU -> CPU"].careless == ""
    assert all(row.careful in ("", None) for row in rows.values())
    assert rows["multi-GPU -> single"].careless
    if not torch.accelerator.is_available():
        assert rows["GPU -> GPU"].careful is None
        assert "Attempting to deserialize object on a CUDA device" in str(rows["GPU -> CPU"].careless)


def test_renamed_device_is_all_that_differs(tmp_path: Path) -> None:
    torch.save(net(1).state_dict(), tmp_path / "here.pt")
    retag(tmp_path / "here.pt", tmp_path / "there.pt", "cuda:0")
    there = read_plain(tmp_path / "there.pt")
    assert all(torch.equal(there[name], tensor) for name, tensor in net(1).state_dict().items())
