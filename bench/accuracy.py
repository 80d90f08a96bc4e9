"""Recall on pitfalls planted into good files, and precision and recall on labels somebody made by hand."""

from __future__ import annotations

import collections
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from bench.measuring import table

Planted = tuple[str, str]  # code, text with the pitfall


def _workers(text: str) -> Iterator[Planted]:
    """Loaders lose their workers."""
    for match in re.finditer(r",\s*num_workers\s*=\s*[1-9]\d*\b", text):
        call = text.rfind("DataLoader(", 0, match.start())
        if call >= 0 and "persistent_workers" not in text and "prefetch_factor" not in text:
            yield "TL101", text[: match.start()] + text[match.end() :]


def _map_location(text: str) -> Iterator[Planted]:
    """Loads lose their map_location."""
    for match in re.finditer(r",\s*map_location\s*=\s*[\w.\"']+(?=\s*[,)])", text):
        call = text.rfind("torch.load(", 0, match.start())
        if call >= 0:
            yield "TL501", text[: match.start()] + text[match.end() :]


def _cuda(text: str) -> Iterator[Planted]:
    """One of several moves to a device becomes ``.cuda()``."""
    moves = list(re.finditer(r"(?<=\w)\.to\(device\)", text))
    for match in moves if len(moves) > 1 else []:
        yield "TL401", text[: match.start()] + ".cuda()" + text[match.end() :]


def _eval(text: str) -> Iterator[Planted]:
    """An ``eval()`` before a stretch without gradients goes."""
    for match in re.finditer(r"^[ \t]*\w+\.eval\(\)[ \t]*\n", text, re.MULTILINE):
        region = re.compile(r"^[ \t]*with torch\.(?:no_grad|inference_mode)\(\):", re.MULTILINE).search(
            text, match.end()
        )
        if region is not None and text.count("\n", match.end(), region.start()) < 15:
            yield "TL301", text[: match.start()] + text[match.end() :]


def _tags(text: str) -> Iterator[Planted]:
    """A second series gets the tag of the first."""
    tags = list(re.finditer(r"\badd_scalar\(\s*([\"'])([^\"'{}%]+)\1", text))
    for first, second in itertools.pairwise(tags):
        if first[2] != second[2]:
            planted = text[: second.start(2)] + first[2] + text[second.end(2) :]
            yield "TL201", planted


MUTATORS: list[Callable[[str], Iterator[Planted]]] = [_workers, _map_location, _cuda, _eval, _tags]


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=click.Path(exists=True, path_type=Path), help="JSON lines: path, line, rule, label.")
@click.option("--most", default=400, show_default=True, help="Planted pitfalls to try for each rule.")
def accuracy(folder: Path, labels: Path | None, most: int) -> None:
    """Score the default rules on the files below FOLDER."""
    planted(folder, most)
    if labels is not None:
        labelled(folder, labels)


def planted(folder: Path, most: int) -> None:
    """Plant one pitfall at a time; it counts as found when the file gets one more finding of its rule."""
    from torchlint import TorchlintError, check_source

    tried: collections.Counter[str] = collections.Counter()
    found: collections.Counter[str] = collections.Counter()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8", "replace")
        before: collections.Counter[str] | None = None
        for mutate in MUTATORS:
            for code, changed in mutate(text):
                if tried[code] >= most:
                    break
                try:
                    if before is None:
                        before = collections.Counter(f.code for f in check_source(text, path=str(path)))
                    after = collections.Counter(f.code for f in check_source(changed, path=str(path)))
                except TorchlintError:  # not Python, before or after
                    continue
                tried[code] += 1
                found[code] += after[code] > before[code]
    rows = [(code, tried[code], found[code], f"{found[code] / tried[code]:.0%}") for code in sorted(tried)]
    click.echo(table(["rule", "planted", "found", "recall"], rows))


def labelled(folder: Path, labels: Path) -> None:
    """Findings near a line labelled ``bug`` are right, near ``ok`` or in a labelled file without a label wrong."""
    from torchlint import check_source

    wanted: dict[tuple[str, str], dict[int, str]] = collections.defaultdict(dict)
    for line in labels.read_text("utf-8").splitlines():
        label = json.loads(line)
        wanted[label["path"], label["rule"]][label["line"]] = label["label"]
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name in sorted({path for path, _ in wanted}):
        file = folder / name
        if not file.is_file():
            continue
        findings = check_source(file.read_text("utf-8", "replace"), path=str(file))
        for code in {code for path, code in wanted if path == name}:
            left = dict(wanted[name, code])
            for finding in findings:
                if finding.code == code:
                    near = next((row for row in left if abs(row - finding.span.row) <= 4), None)
                    counts[code]["right" if near is not None and left.pop(near) == "bug" else "wrong"] += 1
            counts[code]["missed"] += sum(label == "bug" for label in left.values())
    rows = [(code, c["right"], c["wrong"], c["missed"]) for code, c in sorted(counts.items())]
    click.echo(table(["rule", "right", "wrong", "missed"], rows))
