"""Exported files load without this package's classes, with any batch size, and answer as the eager model does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from runtime_support.launching import run

from torchlint.runtime import export as exporting
from torchlint.runtime.checkpoint import load
from torchlint.runtime.errors import UserError
from torchlint.runtime.evaluation import rebuilt


@pytest.fixture(scope="module")
def exported(finished: Path) -> Path:
    result = run(["export", str(finished / "checkpoints" / "best.pt")])
    assert result.code == 0, result.text
    assert "TorchScript, deprecated by PyTorch" in result.text
    assert result.text.count("differs from the eager model by") == 3
    folder = finished / "export"
    assert sorted(path.name for path in folder.iterdir()) == ["model.pt2", "model.torchscript.pt", "weights.pt"]
    return folder


@pytest.fixture(scope="module")
def eager(finished: Path) -> torch.nn.Module:
    return rebuilt(load(finished / "checkpoints" / "best.pt"), "best.pt").eval()


@pytest.mark.parametrize("batch", [1, 3, 17])
@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_every_batch_size(exported: Path, eager: torch.nn.Module, batch: int) -> None:
    pictures = torch.randn(batch, 1, 8, 8)
    with torch.no_grad():
        expected = eager(pictures)
        program = torch.export.load(exported / "model.pt2").module()
        script = torch.jit.load(exported / "model.torchscript.pt", map_location="cpu")  # type: ignore[no-untyped-call]
        for model in (program, script):
            torch.testing.assert_close(model(pictures), expected)
            torch.testing.assert_close(model(pictures), expected)  # no dropout was baked in


def test_weights_are_plain_and_complete(exported: Path, eager: torch.nn.Module) -> None:
    weights = torch.load(exported / "weights.pt", map_location="cpu", weights_only=True)
    assert all(torch.equal(weights[name], tensor) for name, tensor in eager.state_dict().items())


def test_file_that_differs_is_not_written(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model: torch.nn.Module, example: torch.Tensor) -> bytes:
        torch.nn.init.zeros_(model.get_parameter("head.2.bias"))
        return exporting.write_weights(model, example)

    entry = exporting.FORMATS["weights"]
    monkeypatch.setitem(exporting.FORMATS, "weights", exporting.Format(entry.file, entry.remark, wrong, entry.read))
    config = exporting.ExportConfig(str(finished / "checkpoints" / "best.pt"), out=str(tmp_path), formats="weights")
    with pytest.raises(UserError, match="not written; loaded back it differs"):
        exporting.export(config)
    assert list(tmp_path.iterdir()) == []
