"""Mutated real files: whatever the bytes are, torchlint answers with findings or problems, never with a crash."""

from __future__ import annotations

import random
import time
import traceback
from pathlib import Path

import click

from torchlint.engine import check
from torchlint.rules.rule import builtin_rules
from torchlint.source import SourceError, read_source

_WORDS = [
    b"eval",
    b"train",
    b"torch",
    b"(",
    b")",
    b":",
    b"\n",
    b"    ",
    b"with",
    b"for",
    b"0",
    b"None",
    b"lambda",
    b"**",
]


def mutate(raw: bytes, chance: random.Random) -> bytes:
    """A few changes: bytes flipped, words put in, stretches dropped, doubled or moved."""
    found = bytearray(raw)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(found) + 1)
        end = min(len(found), at + chance.randint(0, 60))
        kind = chance.randrange(5)
        if kind == 0 and found:
            found[min(at, len(found) - 1)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            found[at:at] = chance.choice(_WORDS)
        elif kind == 2:
            del found[at:end]
        elif kind == 3:
            found[at:at] = found[at:end]
        else:
            piece = found[at:end]
            del found[at:end]
            to = chance.randrange(len(found) + 1)
            found[to:to] = piece
    return bytes(found)


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--seed", default=0, show_default=True)
def fuzz(folder: Path, seconds: float, seed: int) -> None:
    """Mutate the files below FOLDER for some time; exits 1 when torchlint fails on one."""
    chance = random.Random(seed)
    files = [path for path in sorted(folder.rglob("*.py")) if path.stat().st_size < 60_000]
    rules = [rule() for rule in builtin_rules()]
    end = time.monotonic() + seconds
    tried = parsed = failed = 0
    slowest = (0.0, "")
    while time.monotonic() < end and files:
        path = chance.choice(files)
        raw = mutate(path.read_bytes(), chance)
        tried += 1
        started = time.process_time()
        try:
            checked = check(read_source(str(path), raw), rules)
            internal = [str(problem) for problem in checked.problems if "internal error" in problem.message]
            parsed += not checked.problems
        except SourceError:
            internal = []
        except Exception:
            traceback.print_exc()
            internal = ["it raised"]
        slowest = max(slowest, (time.process_time() - started, str(path)))
        if internal:
            failed += 1
            kept = Path(f"fuzz-{seed}-{tried}.py")
            kept.write_bytes(raw)
            click.echo(f"{kept} (from {path}): {internal[0]}", err=True)
    click.echo(f"{tried} mutants, {parsed} of them parsed, {failed} failures; slowest {slowest[0]:.2f} s: {slowest[1]}")
    raise SystemExit(1 if failed else 0)
