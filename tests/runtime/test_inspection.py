"""`checkpoints`: everything about a file that can be known without its device and without running it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from runtime_support.forging import save_as_if_on, save_code

from torchlint.runtime.__main__ import main
from torchlint.runtime.model import SmallNet


def shown(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(["checkpoints", *argv]) == code
    return capsys.readouterr().out


def test_checkpoint_of_this_trainer(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, str(finished / "checkpoints" / "last.pt"))
    assert "weights_only=True: accepted" in text
    assert "torchlint checkpoint, format 1, written by PyTorch" in text
    assert "small on digits, epoch 10, step 220, 1 process(es)" in text
    assert "model: 16 tensors, 18,636 numbers, on cpu (16), not wrapped" in text
    assert "features.0.weight                        float32 [24, 1, 3, 3] cpu" in text
    assert "… and 8 more (--all)" in text
    everything = shown(capsys, str(finished / "checkpoints" / "last.pt"), "--all")
    assert "more (--all)" not in everything
    assert "head.2.bias" in everything


@pytest.mark.parametrize("device", ["cuda:0", "cuda:5"])
def test_devices_of_a_machine_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str) -> None:
    model = torch.nn.DataParallel(SmallNet(1, 8, 10))
    save_as_if_on(device, {"model": model.state_dict(), "epoch": 3}, tmp_path / "there.pt")
    text = shown(capsys, str(tmp_path / "there.pt"))
    assert f"on {device} (16), wrapped: every key has 'module.' of DataParallel or DistributedDataParallel" in text
    assert "epoch: 3" in text


def test_bare_state_dict_of_a_compiled_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save(torch.compile(torch.nn.Linear(2, 3)).state_dict(), tmp_path / "bare.pt")  # type: ignore[attr-defined]
    text = shown(capsys, str(tmp_path / "bare.pt"))
    assert "(the file): 2 tensors, 9 numbers, on cpu (2), wrapped: every key has '_orig_mod.' of torch.compile" in text


def test_old_format_from_another_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_as_if_on("cuda:1", {"weight": torch.zeros(2, 3)}, tmp_path / "old.pt", zipped=False)
    text = shown(capsys, str(tmp_path / "old.pt"))
    assert "old format" in text
    assert "devices in the file: cuda:1" in text
    assert "float32 [2, 3]" in text


@pytest.mark.parametrize("form", ["zip", "old"])
def test_code_is_named_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    save_code(tmp_path / "evil.pt", tmp_path / "proof", form=form)
    text = shown(capsys, str(tmp_path / "evil.pt"), code=1)
    assert "weights_only=True: refused; needs posix.mkdir" in text
    assert not (tmp_path / "proof").exists()


def test_whole_model_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save(SmallNet(1, 8, 10), tmp_path / "model.pt")
    text = shown(capsys, str(tmp_path / "model.pt"), code=1)
    for name in ("torchlint.runtime.model.SmallNet", "torch.nn.modules.conv.Conv2d"):
        assert name in text


def test_without_a_file_the_scenarios_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys).splitlines()
    assert [line.split("  ")[0] for line in lines[1:6]] == [
        "CPU -> CPU",
        "GPU -> GPU",
        "GPU -> CPU",
        "multi-GPU -> single",
        "single -> multi-GPU",
    ]
