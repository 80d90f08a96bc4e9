"""torchlint reads PyTorch training code without running it, finds costly mistakes and fixes them.

The functions named here are the public interface; ``torchlint.testing`` is the one for people who write rules. They are
imported when first used, so that ``import torchlint`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchlint.api import TorchlintError, check_paths, check_source, fix_source

__version__ = "0.1.0"
__all__ = ["TorchlintError", "__version__", "check_paths", "check_source", "fix_source"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from torchlint import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
