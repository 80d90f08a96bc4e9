"""What a project may decide about the rules themselves; plain data on the lowest floor, read from the configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Options that rules read. ``num_workers`` is what TL101's fix writes; None means ``min(4, os.cpu_count() or 1)``."""

    num_workers: int | None = None


DEFAULTS = Settings()
