"""What a user meets who mistypes, points at nothing, or shares a folder: one line, exit 2, no traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from runtime_support.launching import run, start

from torchlint.runtime.__main__ import COMMANDS, main


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["trian"], "invalid choice: 'trian'"),
        (["evaluate"], "the following arguments are required: checkpoint"),
        (["train", "--epochs", "0"], "--epochs 0: must be at least 1"),
        (
            ["train", "--model", "resnet81"],
            "--model resnet81: must be small, plain or a classifier of torchvision; did you",
        ),
        (["train", "--model", "vit_b_16", "--image-size", "50", "--batch-size", "719"], "cannot take 3x50x50 pictures"),
        (["train", "--image-size", "3"], "--image-size 3: must be at least 4"),
        (["train", "--data", "imagenet"], "--data imagenet: must be digits, fake, imagefolder:PATH"),
        (["train", "--data", "mnist"], "--data mnist: must be digits, fake, imagefolder:PATH"),
        (["train", "--data", "digits:here"], "--data digits:here: must be digits"),
        (["train", "--data", "cifar10:nowhere"], "there is no folder nowhere; expected nowhere/cifar-10-batches-py"),
        (["train", "--data", "mnist:."], "not found or damaged; expected ./MNIST/raw with the four idx files"),
        (["train", "--data", "imagefolder:nowhere"], "there is no folder nowhere; expected nowhere/<class>/<picture>"),
        (["train", "--data", "imagefolder:."], "expected ./<class>/<picture>"),
        (["train", "--batch-size", "1439"], "--batch-size 1439: there are only 1438 training samples"),
        (["train", "--device", "gpu"], "--device gpu: not a device"),
        (["train", "--device", "xpu"], "--device xpu: PyTorch sees"),
        (["train", "--config", "none.toml"], "--config none.toml: cannot be read"),
        (["train", "--out", "file"], "--out file: cannot be used as a folder (Not a directory"),
        (["train", "--out", "file/below"], "--out file/below: cannot be used as a folder"),
        (["train", "--out", "full"], "--out full: holds a.txt, b.txt, c.txt and 1 more, which is no run"),
        (["train", "--out", "full", "--fresh"], "--out full: --fresh needs an empty folder and this one holds a.txt"),
        (["evaluate", "none.pt"], "none.pt: cannot be read (No such file or directory)"),
        (["evaluate", "none.pt", "--batch-size", "0"], "--batch-size 0: must be at least 1"),
        (["export", "none.pt"], "none.pt: cannot be read (No such file or directory)"),
        (["export", "none.pt", "--formats", "onnx"], "--formats onnx: may hold weights, export, torchscript"),
        (["checkpoints", "none.pt"], "none.pt: cannot be read (No such file or directory)"),
        (["checkpoints", "full"], "full: cannot be read (Is a directory)"),
        (["checkpoints", "file"], "file: is"),
        (["loaders", "--workers", "a,b"], "--workers a,b: must be auto or numbers"),
        (["loaders", "--passes", "1"], "--passes 1: must be at least 2"),
        (["loaders", "--dataset", "nothing"], "--dataset nothing: must be package.module:object"),
        (["loaders", "--dataset", "nothing:here"], "cannot be imported or made (ModuleNotFoundError"),
        (["loaders", "--dataset", "math:pi"], "--dataset math:pi: is a float, which has no __getitem__"),
        (["loaders", "--out", "file"], "--out file: cannot be used as a folder"),
    ],
)
def test_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a checkpoint")
    (tmp_path / "full").mkdir()
    for name in "abcd":
        (tmp_path / "full" / f"{name}.txt").touch()
    assert main(argv) == 2
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert len(lines) == 1, printed
    assert lines[0].startswith("torchlint: error: ")
    assert message in lines[0]
    assert not (tmp_path / "runs").exists()  # nothing is left of a run that could not start


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert "usage: torchlint " + command in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--lr", "0.1"], "--lr 0.1: the run in"),
        (["--seed", "1"], "--seed 1: the run in"),
        (["--model", "plain"], "--model plain: the run in"),
        (["--batch-size", "32"], "--batch-size 32: the run in"),
        (["--fresh"], "--fresh needs an empty folder"),
    ],
)
def test_other_settings_in_a_run_that_is_there(finished: Path, flags: list[str], message: str) -> None:
    result = run(["train", "--out", str(finished), *flags])
    assert result.code == 2
    assert message in result.text
    assert result.text.count("\n") == 1


def test_folder_in_which_another_process_trains(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = start(["train", "--epochs", "500", "--out", str(out)])
    while not (out / "config.toml").exists():  # it holds the folder from before it writes this
        time.sleep(0.05)
        assert first.process.is_alive()
    second = run(["train", "--epochs", "500", "--out", str(out)])
    assert second.code == 2
    assert f"--out {out}: another process is training there" in second.text
    first.process.terminate()
    assert first.result().code == 143
