"""``python -m bench``: each command prints a Markdown table."""

from __future__ import annotations

import click

from bench import accuracy, fuzz, kill, scale, speed, sweep


@click.group()
def main() -> None:
    """Measure torchlint. Compare figures of one run only: machines differ, and so does what else they do."""


for command in (speed.speed, scale.scale, accuracy.accuracy, fuzz.fuzz, kill.kill, sweep.sweep):
    main.add_command(command)

if __name__ == "__main__":
    main()
