"""What workers may break; a module of its own, for the texts of rules need it alone."""

from __future__ import annotations

import enum


class Hazard(enum.Enum):
    """Why workers would break a loader or change what it yields. ``{what}`` names the code that shows it."""

    REPLAYED = "replayed"  # an iterable dataset that every worker plays in full
    LOCAL = "local"  # a lambda, or a function or class of a function: cannot be pickled
    HANDLE = "handle"  # an open file or archive whose position the processes would share
    DATABASE = "database"  # an open database, which must not be used after a fork
    OWN = "own"  # a lock or the like: cannot be pickled, but a forked copy works
    CUDA = "cuda"  # tensors on a GPU, which a forked process cannot use
    STATE = "state"  # attributes written while samples are read: each worker writes its own copy
