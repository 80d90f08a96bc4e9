"""torchlint and its peers on the same files, each tool in its own environment, runs interleaved."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path

import click

from bench.measuring import Run, measure, table

SDISTS = {"timm": "timm==1.0.31", "lightning": "pytorch-lightning==2.6.6"}
REQUIREMENTS = {
    "torch-preflight": "torch-preflight==0.5.0",
    "torchfix": "torchfix==0.7.0",
    "hotpath": "hotpath-ai==0.1.0",
    "ruff": "ruff==0.17.6",
}
COMMANDS: dict[str, list[str]] = {
    "torchlint": ["torchlint", "check", "--no-cache", "--isolated", "-q", "--select", "ALL", "."],
    "torchlint, warm": ["torchlint", "check", "--isolated", "-q", "--select", "ALL", "."],
    "ruff": ["ruff", "check", "--no-cache", "--isolated", "-q", "."],
    "hotpath": ["hotpath", "scan", "."],
    "torch-preflight": ["torch-preflight", "."],
    "torchfix": ["torchfix", "--select=ALL", "."],
}


def install(tool: str, home: Path) -> Path:
    """The folder of a tool's commands; its environment is made when it is not there yet."""
    bin_folder = home / tool / ("Scripts" if sys.platform == "win32" else "bin")
    if not (bin_folder / "installed").exists():
        venv.create(home / tool, with_pip=True, clear=True)
        what = str(Path(__file__).parent.parent) if tool == "torchlint" else REQUIREMENTS[tool]
        subprocess.run([bin_folder / "python", "-m", "pip", "install", "-q", what], check=True)
        (bin_folder / "installed").touch()
    return bin_folder


def download(name: str, home: Path) -> Path:
    """The unpacked source distribution of a pinned release."""
    folder = home / name
    if not folder.exists():
        fetched = home / "archives" / name
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(fetched)]
        subprocess.run([*pip, SDISTS[name]], check=True)
        (archive,) = fetched.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    return folder


def draw(rows: Sequence[tuple[str, float]], title: str, path: Path) -> None:
    """Bars of processor seconds on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 0.5 * len(rows) + 1))
    axes.barh([name for name, _ in rows], [seconds for _, seconds in rows])
    axes.set_xscale("log")
    axes.set_xlabel("processor seconds")
    axes.set_title(title)
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


@click.command()
@click.option("--home", type=click.Path(path_type=Path), default=Path("build/bench"), help="Environments and sources.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--tools", default=",".join(COMMANDS), show_default=True)
@click.option("--sources", default=",".join(SDISTS), show_default=True)
@click.option("--limit", default=600.0, show_default=True, help="Wall seconds for one run.")
@click.option("--png", type=click.Path(path_type=Path), default=None)
def speed(home: Path, rounds: int, tools: str, sources: str, limit: float, png: Path | None) -> None:
    """Processor seconds of each tool, its median, and how many times torchlint's that is."""
    home = home.resolve()
    names = [name.strip() for name in tools.replace("torchlint, warm", "warm").split(",")]
    names = ["torchlint, warm" if name == "warm" else name for name in names]
    bins = {name: install(name.partition(",")[0], home / "tools") for name in names}
    for source in sources.split(","):
        folder = download(source, home / "sources")
        runs: dict[str, list[Run]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:  # interleaved: what else the machine does falls on all alike
                program, *arguments = COMMANDS[name]
                try:
                    runs[name].append(measure([str(bins[name] / program), *arguments], folder, limit))
                except TimeoutError as error:
                    click.echo(str(error), err=True)
        medians = {name: statistics.median(run.cpu for run in found) for name, found in runs.items() if found}
        base = medians.get("torchlint")
        rows = [
            (
                name,
                f"{medians[name]:.2f}",
                f"{statistics.median(run.wall for run in runs[name]):.2f}",
                f"{max(run.memory for run in runs[name]):.0f}",
                f"{medians[name] / base:.2f}" if base else "",
            )
            for name in medians
        ]
        click.echo(f"\n{SDISTS[source]}, median of {rounds}\n")
        click.echo(table(["tool", "processor s", "wall s", "peak MB", "times torchlint"], rows))
        if png is not None:
            draw(list(medians.items()), SDISTS[source], png.with_stem(f"{png.stem}-{source}"))
