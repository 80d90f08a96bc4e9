"""Time against the size of a file and against the number of files: both should grow in proportion."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from bench.measuring import measure, table

HEAD = "import torch\nfrom torch.utils.data import DataLoader\n\nstate = torch.load('start.pt')\n"
TAIL = "\nmodel = make(state)\nwith torch.no_grad():\n    for batch in loader:\n        model(batch)\n"


def lines(count: int) -> str:
    """Many small functions."""
    block = "def layer_{n}(x, scale={n}):\n    y = x * scale\n    if y.sum() > {n}:\n        y = y - y.mean()\n    return y\n\n"
    return HEAD + "".join(block.format(n=n) for n in range(count // 6)) + TAIL


def branches(count: int) -> str:
    """One function with many branches, each of which switches a mode."""
    body = "".join(f"    if kind == {n}:\n        x = {n}\n        model.eval()\n" for n in range(count))
    return HEAD + f"def run(model, kind):\n    x = 0\n{body}    return model(x)\n" + TAIL


def entries(count: int) -> str:
    """One dict of many lines."""
    return HEAD + "TABLE = {\n" + "".join(f"    'key{n}': {n},\n" for n in range(count)) + "}\n" + TAIL


def terms(count: int) -> str:
    """One sum of many terms."""
    return HEAD + "total = " + " + ".join(f"part({n})" for n in range(count)) + "\n" + TAIL


SHAPES: dict[str, tuple[Callable[[int], str], list[int]]] = {
    "lines": (lines, [7_500, 15_000, 30_000]),
    "branches": (branches, [500, 1_000, 2_000]),
    "dict entries": (entries, [5_000, 10_000, 20_000]),
    "terms of a sum": (terms, [500, 1_000, 2_000]),
}
FILES = [100, 400, 1_600]


@click.command()
def scale() -> None:
    """Processor seconds and peak memory for growing files, and for growing numbers of files."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check = [sys.executable, "-m", "torchlint", "check", "--no-cache", "--isolated", "-q", "-j", "1"]
        empty = measure([*check, str(folder)], folder).cpu
        for shape, (make, counts) in SHAPES.items():
            for count in counts:
                text = make(count)
                (folder / "one.py").write_text(text)
                run = measure([*check, "one.py"], folder)
                rows.append(_row(shape, count, len(text), run.cpu - empty, run.memory, run.code))
        (folder / "one.py").unlink()
        for count in FILES:
            for number in range(count):
                (folder / f"f{number}.py").write_text(lines(300))
            run = measure([*check, "."], folder)
            rows.append(_row("files", count, count * len(lines(300)), run.cpu - empty, run.memory, run.code))
    click.echo(table(["what", "count", "kB", "processor s", "µs a byte", "peak MB", "exit code"], rows))


def _row(what: str, count: int, size: int, seconds: float, memory: float, code: int) -> list[object]:
    return [what, count, size // 1000, f"{seconds:.2f}", f"{seconds * 1e6 / size:.2f}", f"{memory:.0f}", code]
