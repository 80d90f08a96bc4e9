"""Kinds of values in checkpoints; a module of its own, for the texts of rules need it alone."""

from __future__ import annotations

import enum


class Kind(enum.Enum):
    """What a value is as far as the file shows it, with the name of a type; all but PLAIN and UNKNOWN are refused."""

    PLAIN = "plain"
    UNKNOWN = "unknown"
    NAMESPACE = "argparse.Namespace"
    DATACLASS = "dataclass"
    PATH = "pathlib.Path"
    SCALAR = "numpy.float64"
    ARRAY = "numpy.ndarray"
    ENUM = "enum.Enum"
    MAPPING = "defaultdict"
    QUEUE = "deque"
    DATE = "datetime"
