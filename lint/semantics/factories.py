"""The functions of torch that make a tensor and take ``device``; a module of its own, for screens need them alone."""

from __future__ import annotations

FACTORIES = ("zeros", "ones", "full", "empty", "arange", "linspace", "eye", "rand", "randn", "randint", "tensor")
