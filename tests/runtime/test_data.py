"""Data: every sample once, in an order that follows from seed, epoch and position, whoever prepares it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from torchlint.runtime import data, datasets
from torchlint.runtime.distributed import World
from torchlint.runtime.errors import UserError

CPU = torch.device("cpu")


def world(rank: int, size: int) -> World:
    return World(rank=rank, size=size, local_size=size, device=CPU)


def keys(
    length: int,
    batch_size: int,
    *,
    rank: int = 0,
    size: int = 1,
    epoch: int = 0,
    position: int = 0,
    accumulate: int = 1,
):  # type: ignore[no-untyped-def]
    batches = data.TrainBatches(length, batch_size, accumulate, world(rank, size), seed=1)
    batches.set_epoch(epoch, position)
    listed = list(batches)
    assert len(listed) == len(batches)
    return listed


def test_digits_are_the_real_ones() -> None:
    images, labels = datasets.read_digits()
    assert images.shape == (1797, 1, 8, 8)
    assert (images.min().item(), images.max().item()) == (0.0, 1.0)
    assert torch.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    task = datasets.load_task("digits", 1, 8)
    assert (len(task.train), len(task.val)) == (1438, 359)  # type: ignore[arg-type]
    pixels = torch.stack([task.val[index][0] for index in range(359)])
    assert abs(pixels.mean().item()) < 0.05
    assert abs(pixels.std().item() - 1) < 0.05


def test_training_pictures_move_and_validation_pictures_do_not() -> None:
    task = datasets.load_task("digits", 1, 8)
    assert len({task.train[0][0].numpy().tobytes() for _ in range(50)}) == 9  # up to one pixel each way
    assert len({task.val[0][0].numpy().tobytes() for _ in range(50)}) == 1


def test_digits_in_another_shape() -> None:
    image, _ = datasets.load_task("digits", 3, 32).train[0]
    assert image.shape == (3, 32, 32)
    assert torch.equal(image[0], image[2])


def test_ranks_and_parts_make_the_same_batches() -> None:
    whole = keys(100, 12)
    assert len(whole) == 8
    for size, accumulate in [(2, 1), (3, 1), (1, 4), (2, 3)]:
        shares = [keys(100, 12, rank=rank, size=size, accumulate=accumulate) for rank in range(size)]
        for number, batch in enumerate(whole):
            parts = [part for share in shares for part in share[number * accumulate : (number + 1) * accumulate]]
            assert sorted(key for part in parts for key in part) == sorted(batch)


def test_position_and_epoch() -> None:
    assert keys(100, 12, position=3) == keys(100, 12)[3:]
    assert keys(100, 12, position=3, accumulate=2) == keys(100, 12, accumulate=2)[6:]
    assert keys(100, 12, position=8) == []
    indices = [[index for batch in keys(100, 12, epoch=epoch) for index, _ in batch] for epoch in (0, 1)]
    assert indices[0] != indices[1]
    assert len(set(indices[0])) == 96
    seeds = [dict(key for batch in keys(100, 12, epoch=epoch) for key in batch) for epoch in (0, 1)]
    both = seeds[0].keys() & seeds[1].keys()
    assert all(seeds[0][index] != seeds[1][index] for index in both)


def test_sample_depends_on_its_key_alone() -> None:
    seeded = data.Seeded(datasets.load_task("digits", 1, 8).train)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = seeded[(5, 77)][0]
    assert torch.equal(torch.get_rng_state(), before)  # dropout's generator is not moved
    torch.manual_seed(2)
    assert torch.equal(seeded[(5, 77)][0], first)


def test_persistent_workers_see_each_epoch() -> None:
    batches = data.TrainBatches(1438, 719, 1, world(0, 1), seed=0)
    task = datasets.load_task("digits", 1, 8)
    passes = {}
    for workers in (0, 2):
        loader = data.train_loader(task.train, batches, world(0, 1), workers)
        for epoch in (0, 1):
            batches.set_epoch(epoch)
            passes[workers, epoch] = torch.cat([images for images, _ in loader])
    for epoch in (0, 1):
        assert torch.equal(passes[0, epoch], passes[2, epoch])
    assert not torch.equal(passes[0, 0], passes[0, 1])


def test_loader_leaves_the_global_generator_alone() -> None:
    task = datasets.load_task("digits", 1, 8)
    batches = data.TrainBatches(1438, 64, 1, world(0, 1), seed=0)
    before = torch.get_rng_state()
    for loader in (
        data.train_loader(task.train, batches, world(0, 1), 0),
        data.val_loader(task.val, 64, world(0, 1), 0),
    ):
        assert next(iter(loader))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_validation_counts_every_sample_once(size: int) -> None:
    val = datasets.load_task("digits", 1, 8).val
    labels = [
        label
        for rank in range(size)
        for _, batch in data.val_loader(val, 50, world(rank, size), 0)
        for label in batch.tolist()
    ]
    assert sorted(labels) == sorted(val[index][1] for index in range(359))


def pictures(folder: Path, count: int, size: tuple[int, int] = (20, 30)) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", size, (number, 0, 0)).save(folder / f"{number}.png")


def test_image_folder_is_split_when_it_is_not(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        pictures(tmp_path / name, 10)
    task = datasets.load_task(f"imagefolder:{tmp_path}", 3, 16)
    assert (len(task.train), len(task.val), task.classes) == (16, 4, 2)  # type: ignore[arg-type]
    image, label = task.train[0]
    assert (image.shape, image.dtype, label) == ((3, 16, 16), torch.float32, 0)


def test_image_folder_with_both_parts(tmp_path: Path) -> None:
    for part, count in (("train", 3), ("val", 2)):
        for name in ("cat", "dog"):
            pictures(tmp_path / part / name, count)
    task = datasets.load_task(f"imagefolder:{tmp_path}", 1, 16)
    assert (len(task.train), len(task.val), task.classes) == (6, 4, 2)  # type: ignore[arg-type]
    assert task.val[0][0].shape == (1, 16, 16)


def test_image_folder_whose_parts_differ(tmp_path: Path) -> None:
    pictures(tmp_path / "train" / "cat", 1)
    pictures(tmp_path / "val" / "dog", 1)
    with pytest.raises(UserError, match="only one has cat, dog"):
        datasets.load_task(f"imagefolder:{tmp_path}", 3, 16)


def test_fake_data() -> None:
    task = datasets.load_task("fake", 3, 24)
    assert task.train[0][0].shape == (3, 24, 24)
    assert (len(task.train), len(task.val)) == (1000, 200)  # type: ignore[arg-type]
