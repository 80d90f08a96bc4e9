"""TensorBoard: tags, pictures of every kind, purging, closing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from torchlint.runtime.board import Board, opened, to_chw

RED, BLUE = (255, 0, 0), (0, 0, 255)


def colour(picture: torch.Tensor) -> tuple[int, ...]:
    """The colour of the first pixel of a [3, height, width] picture."""
    assert picture.dtype == torch.uint8
    assert picture.shape == (3, 4, 6)
    return tuple(picture[:, 0, 0].tolist())


def plane(shape: tuple[int, ...], axis: int, values: tuple[float, ...], dtype: Any) -> Any:
    picture = np.zeros(shape, dtype=dtype)
    for channel, value in enumerate(values):
        picture[(slice(None),) * axis + (channel,)] = value
    return picture


@pytest.mark.parametrize(
    ("picture", "stated", "expected"),
    [
        (Image.new("RGB", (6, 4), RED), {}, RED),
        (Image.new("L", (6, 4), 7), {}, (7, 7, 7)),
        (Image.new("RGBA", (6, 4), (*RED, 9)), {}, RED),
        (Image.new("P", (6, 4), 0), {}, (0, 0, 0)),
        (plane((4, 6, 3), 2, RED, np.uint8), {"layout": "HWC"}, RED),
        (plane((4, 6, 3), 2, BLUE, np.uint8), {"layout": "HWC", "order": "BGR"}, RED),
        (plane((3, 4, 6), 0, RED, np.uint8), {"layout": "CHW"}, RED),
        (plane((3, 4, 6), 0, (1.0, 0.0, 0.5), np.float32), {"layout": "CHW"}, (255, 0, 128)),
        (plane((3, 4, 6), 0, (1.0, -1.0, 0.0), np.float64), {"layout": "CHW", "low": -1.0}, (255, 0, 128)),
        (plane((3, 4, 6), 0, (128.0, 0.0, 255.0), np.float32), {"layout": "CHW", "high": 255.0}, (128, 0, 255)),
        (np.full((4, 6), 9, dtype=np.uint8), {"layout": "HW"}, (9, 9, 9)),
        (np.full((4, 6), True), {"layout": "HW"}, (255, 255, 255)),
        (torch.full((1, 4, 6), 0.2, requires_grad=True), {"layout": "CHW"}, (51, 51, 51)),
        (torch.full((4, 6, 1), 3, dtype=torch.uint8), {"layout": "HWC"}, (3, 3, 3)),
    ],
)
def test_pictures_come_out_as_they_are(picture: Any, stated: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert colour(to_chw(picture, **stated)) == expected


@pytest.mark.parametrize(
    ("picture", "stated", "message"),
    [
        (np.zeros((4, 6, 3), dtype=np.uint8), {}, "needs its layout"),
        (np.zeros((4, 6), dtype=np.uint8), {"layout": "CHW"}, "needs its layout"),
        (np.zeros((4, 6, 3), dtype=np.uint8), {"layout": "CHW"}, "gives 4 channels"),
        (np.full((3, 4, 6), 128.0), {"layout": "CHW"}, r"128..128, outside 0..1"),
        (np.full((3, 4, 6), -0.1), {"layout": "CHW"}, "outside 0..1"),
        (np.full((3, 4, 6), np.nan), {"layout": "CHW"}, "outside 0..1"),
        (np.zeros((3, 4, 6), dtype=np.int64), {"layout": "CHW"}, "no agreed range"),
    ],
)
def test_pictures_that_would_come_out_wrong_are_refused(picture: Any, stated: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_chw(picture, **stated)


def read(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0}).Reload()


def test_phases_have_tags_of_their_own_and_leaving_writes_everything(tmp_path: Path) -> None:
    def interrupted() -> None:
        with opened(tmp_path) as board:
            board.scalars("train", {"loss": 1.0}, 1)
            board.scalars("val", {"loss": 2.0}, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    events = read(tmp_path)
    assert {tag: [event.value for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]} == {
        "train/loss": [1.0],
        "val/loss": [2.0],
    }


def test_purging_leaves_no_doubled_point(tmp_path: Path) -> None:
    for purge_step, steps in ((None, range(6)), (3, range(3, 8))):
        with opened(tmp_path, purge_step) as board:
            for step in steps:
                board.scalars("train", {"loss": float(step)}, step)
    assert [event.step for event in read(tmp_path).Scalars("train/loss")] == list(range(8))


def test_pictures_are_shown_with_their_colours(tmp_path: Path) -> None:
    with opened(tmp_path) as board:
        board.pictures("val", "pictures", [to_chw(plane((4, 6, 3), 2, BLUE, np.uint8), "HWC", order="BGR")], 0)
    shown = Image.open(io.BytesIO(read(tmp_path).Images("val/pictures")[0].encoded_image_string))
    assert shown.getpixel((0, 0)) == RED


def test_other_ranks_write_nothing(tmp_path: Path) -> None:
    board = Board(None)
    board.scalars("train", {"loss": 1.0}, 1)
    board.pictures("val", "pictures", [torch.zeros(3, 4, 6, dtype=torch.uint8)], 0)
    board.hparams({"lr": 1}, 0.5, 1)
    board.flush()
    board.close()
    assert list(tmp_path.iterdir()) == []
