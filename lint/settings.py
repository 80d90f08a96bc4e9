"""What a project may decide about the rules themselves; plain data on the lowest floor, read from the configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How files are checked, besides the choice of rules.

    ``num_workers`` is what TL101's fix writes; None means ``min(4, os.cpu_count() or 1)``. ``time_limit`` is the
    processor time in seconds that a file may take to be checked, and again to be fixed.
    """

    num_workers: int | None = None
    time_limit: int = 60


DEFAULTS = Settings()
