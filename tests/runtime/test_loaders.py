"""`loaders` measures; no test asserts a time."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.data import Dataset

from torchlint.runtime import loaders
from torchlint.runtime.__main__ import main
from torchlint.runtime.devices import resolve

ROW = re.compile(r"^ +(\d+) +(no|yes) +[\d.]+ s +[\d.]+ s +\d+ +\d+%$", re.MULTILINE)


def test_table_picture_and_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--workers", "0,1", "--passes", "2", "--batches", "2", "--batch-size", "16"]
    for _ in range(2):  # a second measurement replaces the first in TensorBoard
        assert main(["loaders", *flags, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert [match.group(1) for match in ROW.finditer(text)] == ["0", "1"] * 4
    assert text.count("best here: num_workers=") == 4
    assert "usable core(s), device" in text
    assert "PyTorch warns above" in text
    assert Image.open(tmp_path / "loaders.png").format == "PNG"
    events = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    assert {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]} == {
        f"loaders/{series}/{name}": [0, 1]
        for series in ("digits_in_memory", "digits_decoded_from_PNG")
        for name in ("pass_seconds", "waiting")
    }


MODULE = """
import torch
from torch.utils.data import TensorDataset

ready = TensorDataset(torch.zeros(40, 2), torch.zeros(40))

def made():
    return ready

class Own(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        return {"picture": torch.zeros(2), "name": str(index)}

def broken():
    raise OSError("no such disk")
"""


@pytest.mark.parametrize("name", ["ready", "made", "Own"])
def test_the_users_own_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"own_data_{name}.py").write_text(MODULE)
    own = f"own_data_{name}:{name}"
    flags = ["--workers", "0", "--passes", "2", "--batch-size", "16", "--out", "measured"]
    assert main(["loaders", "--dataset", own, *flags]) == 0
    assert f"\n{own}, batches of 16" in capsys.readouterr().out


def test_dataset_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_data_broken.py").write_text(MODULE)
    assert main(["loaders", "--dataset", "own_data_broken:broken"]) == 2
    assert "cannot be imported or made (OSError: no such disk)" in capsys.readouterr().err


def test_auto_never_asks_for_more_than_twice_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, expected in ((1, [0, 1, 2]), (2, [0, 1, 2, 4]), (8, [0, 1, 2, 4, 8, 16])):
        monkeypatch.setattr(loaders, "usable_cores", lambda cores=cores: cores)
        assert loaders.LoadersConfig().settings == expected


def test_samples_of_a_pass_are_counted() -> None:
    class Ten(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 10

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.zeros(1)

    for batches, samples in ((20, 10), (2, 8)):
        config = loaders.LoadersConfig(batch_size=4, batches=batches, passes=2)
        assert loaders.measured(Ten(), 0, False, config, resolve("cpu")).samples == samples
    assert threading.active_count() < 10
