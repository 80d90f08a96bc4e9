"""Output formats, each one pure function from findings to text."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import cast

from torchlint.findings import Finding
from torchlint.reports.view import Report, View

__all__ = ["STREAMED", "Report", "View", "one", "whole"]

# Formats that show each finding by itself, so that large runs can print as they go.
STREAMED = ("full", "concise", "jsonl", "github")
_WHOLE = ("json", "sarif", "gitlab", "junit", "rdjson")


def one(name: str) -> Callable[[Finding, View], str]:
    """The function that shows one finding in a streamed format."""
    if name not in STREAMED:
        raise ValueError(f"{name} is not a streamed format")
    return cast("Callable[[Finding, View], str]", importlib.import_module(f"torchlint.reports.{name}_format").show)


def whole(name: str) -> Callable[[Report], Iterator[str]]:
    """The function that shows all findings at once, in pieces."""
    if name not in _WHOLE:
        raise ValueError(f"{name} is not a format for whole reports")
    return cast("Callable[[Report], Iterator[str]]", importlib.import_module(f"torchlint.reports.{name}_format").show)
