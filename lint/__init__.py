"""torchlint reads PyTorch training code without running it, finds costly mistakes and fixes them."""

from __future__ import annotations

__version__ = "0.1.0"
