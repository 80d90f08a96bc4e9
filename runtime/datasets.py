"""The data a run can train on: an embedded set of real digits, and torchvision's datasets by name.

Pitfalls shown: validation pictures that are augmented like training pictures, and a missing folder that surfaces as an
IndexError deep inside a worker. Each source has its own training and validation transforms, and a folder that is not
there is answered with what was expected where.

Every dataset returns (picture, class): float32 [channels, size, size], roughly zero mean and unit variance, and an int.
"""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import Dataset, Subset

from torchlint.runtime.errors import UserError

SOURCES = "digits, fake, imagefolder:PATH, cifar10:ROOT or mnist:ROOT"
NATURAL = {"digits": (1, 8), "fake": (3, 32), "imagefolder": (3, 224), "cifar10": (3, 32), "mnist": (1, 28)}
MEAN, DEVIATION = 0.3, 0.38  # of the digits' pixels, scaled to 0..1
Sample = tuple[torch.Tensor, int]


@dataclass(frozen=True)
class Task:
    """What there is to learn: both parts of the data, the number of classes, and whether samples cost no work."""

    train: Dataset[Sample]
    val: Dataset[Sample]
    classes: int
    in_memory: bool


def natural_shape(data: str) -> tuple[int, int]:
    """Channels and size (pixels) a source has by itself. Raises UserError for an unknown source."""
    name, _, path = data.partition(":")
    if name not in NATURAL or (name in ("digits", "fake")) != (path == ""):
        raise UserError(f"--data {data}: must be {SOURCES}")
    return NATURAL[name]


def load_task(data: str, channels: int, size: int) -> Task:
    """The source `data` with pictures of `channels` x `size` x `size`. Raises UserError when it is not there."""
    natural_shape(data)
    name, _, path = data.partition(":")
    if name == "digits":
        return digits(channels, size)
    if name == "fake":
        return fake(channels, size)
    if not Path(path).is_dir():
        raise UserError(f"--data {data}: there is no folder {path}; expected {EXPECTED[name].format(path=path)}")
    return image_folder(path, channels, size) if name == "imagefolder" else torchvision_set(name, path, channels, size)


EXPECTED = {
    "imagefolder": "{path}/<class>/<picture>, or {path}/train/<class>/<picture> and {path}/val/<class>/<picture>",
    "cifar10": "{path}/cifar-10-batches-py, unpacked from cifar-10-python.tar.gz",
    "mnist": "{path}/MNIST/raw with the four idx files",
}


class Digits(Dataset[Sample]):
    """8x8 grey digits in memory; the training part is moved by up to one pixel, drawn from torch's generator."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor, *, shift: int) -> None:
        self.images = images
        self.labels = labels.tolist()
        self.shift = shift

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Sample:
        image = self.images[index]
        if self.shift:
            size = image.shape[-1]
            down, right = (int(torch.randint(3, ()) * self.shift) for _ in range(2))
            image = F.pad(image, (self.shift,) * 4, value=-MEAN / DEVIATION)
            image = image[:, down : down + size, right : right + size]
        return image, self.labels[index]


def read_digits() -> tuple[torch.Tensor, torch.Tensor]:
    """The embedded pictures [1797, 1, 8, 8], float32 from 0 to 1, and their classes [1797]. Source: digits.txt."""
    packed = resources.files("torchlint.runtime").joinpath("digits.csv.gz").read_bytes()
    table = np.loadtxt(io.BytesIO(gzip.decompress(packed)), delimiter=",", dtype=np.float32)
    return torch.from_numpy(table[:, :64]).reshape(-1, 1, 8, 8) / 16, torch.from_numpy(table[:, 64]).long()


class EncodedDigits(Dataset[Sample]):
    """The embedded digits as PNG files of 128 pixels a side, decoded and cut for each sample, as photographs are."""

    SIDE, CROP = 128, 112

    def __init__(self) -> None:
        from PIL import Image

        images, labels = read_digits()
        self.labels = labels.tolist()
        self.files = []
        for image in (images[:, 0] * 255).round().to(torch.uint8).numpy():
            buffer = io.BytesIO()
            Image.fromarray(image).resize((self.SIDE, self.SIDE)).save(buffer, "png", compress_level=1)
            self.files.append(buffer.getvalue())

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Sample:
        from PIL import Image

        left, upper = torch.randint(self.SIDE - self.CROP + 1, (2,)).tolist()
        with Image.open(io.BytesIO(self.files[index])) as file:
            picture = file.convert("RGB").crop((left, upper, left + self.CROP, upper + self.CROP))
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1) / 255, self.labels[index]


def digits(channels: int, size: int) -> Task:
    """The embedded digits: every fifth picture validates (359), the others train (1,438)."""
    images, labels = read_digits()
    images = ((images - MEAN) / DEVIATION).expand(-1, channels, -1, -1)
    if size != 8:
        images = F.interpolate(images, size=(size, size), mode="nearest")
    held_out = torch.arange(len(labels)) % 5 == 4
    train = Digits(images[~held_out], labels[~held_out], shift=max(1, size // 8))
    return Task(train, Digits(images[held_out], labels[held_out], shift=0), classes=10, in_memory=True)


def fake(channels: int, size: int) -> Task:
    """Noise with random classes: nothing to learn, good for measuring speed."""
    datasets, transform = torchvision().datasets, transforms(channels, size, train=False)
    train, val = (datasets.FakeData(n, (3, size, size), 10, transform, random_offset=n) for n in (1000, 200))
    return Task(train, val, classes=10, in_memory=False)


def image_folder(path: str, channels: int, size: int) -> Task:
    """Pictures in one folder a class; without train/ and val/ every fifth picture of the folder validates."""
    folders, root = torchvision().datasets.ImageFolder, Path(path)
    split = (root / "train").is_dir() and (root / "val").is_dir()
    try:
        train = folders(str(root / "train" if split else root), transforms(channels, size, train=True))
        val = folders(str(root / "val" if split else root), transforms(channels, size, train=False))
    except FileNotFoundError as error:  # torchvision's word for a folder without classes or a class without pictures
        raise UserError(f"{error}; expected {EXPECTED['imagefolder'].format(path=path)}") from error
    if train.classes != val.classes:
        odd = sorted(set(train.classes) ^ set(val.classes))
        raise UserError(f"{path}: train/ and val/ must hold the same classes; only one has {', '.join(odd)}")
    if split:
        return Task(train, val, classes=len(train.classes), in_memory=False)
    indices = range(len(train))
    learned, held_out = [i for i in indices if i % 5 != 4], [i for i in indices if i % 5 == 4]
    return Task(Subset(train, learned), Subset(val, held_out), classes=len(train.classes), in_memory=False)


def torchvision_set(name: str, path: str, channels: int, size: int) -> Task:
    """CIFAR-10 or MNIST from a folder that already holds it; nothing is downloaded."""
    kind: Any = {"cifar10": torchvision().datasets.CIFAR10, "mnist": torchvision().datasets.MNIST}[name]
    flip = name == "cifar10"  # a mirrored digit is another digit
    try:
        train = kind(path, train=True, transform=transforms(channels, size, train=True, flip=flip, crop=False))
        val = kind(path, train=False, transform=transforms(channels, size, train=False))
    except RuntimeError as error:
        expected = EXPECTED[name].format(path=path)
        raise UserError(f"--data {name}:{path}: not found or damaged; expected {expected}") from error
    return Task(train, val, classes=10, in_memory=False)


def transforms(channels: int, size: int, *, train: bool, flip: bool = True, crop: bool = True) -> Any:
    """PIL picture -> normalised float32 [channels, size, size]; random crops and flips only for training."""
    torchvision()
    from torchvision.transforms import v2  # type: ignore[import-untyped]

    shape: list[Any] = [v2.Resize((size, size))]
    if train and crop:
        shape = [v2.RandomResizedCrop(size, scale=(0.5, 1.0))]
    elif train:
        shape += [v2.RandomCrop(size, padding=size // 8)]
    elif crop:
        shape = [v2.Resize(size + size // 8), v2.CenterCrop(size)]
    colour = v2.Grayscale(channels) if channels == 1 else v2.RGB()
    turn = [v2.RandomHorizontalFlip()] if train and flip else []
    to_float = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * channels, [0.25] * channels)]
    return v2.Compose([colour, *shape, *turn, *to_float])


def torchvision() -> Any:
    """The torchvision package; raises UserError when it is missing or does not fit PyTorch."""
    try:
        import torchvision  # type: ignore[import-untyped]
    except (ImportError, RuntimeError) as error:  # RuntimeError: built for another PyTorch
        message = f"torchvision is needed here and does not import ({error}); install the one that fits this PyTorch"
        raise UserError(message) from error
    return torchvision
