"""Words without which a file keeps no weights over later training; a module of its own, for screens need them alone."""

from __future__ import annotations

import re

# An assignment to a name that speaks of an earlier time; what ends with a comma is the parameter of a function.
KEPT_ASSIGNMENT = re.compile(
    rb"(?:\A|[\n\r;:])[ \t\f]*(?:\w*_)?(?:best|old|prev(?:ious)?|before|orig(?:inal)?|init(?:ial)?|saved|snapshot|backup|start)"
    rb"(?:_\w*)?[ \t\\]*(?:=(?!=)|:)(?:[^\n\r]*(?:weight|bias|parameters)|[^\n\r]*[^,\s][ \t]*(?:[\n\r]|\Z))",
    re.I,
)
# Where none of these is found, nothing speaks of training steps or of the best result, over which weights would be kept.
KEPT_WHILE = (
    "backward",
    "best",
    "Best",
    "BEST",
    r"step\b(?<=\.step)",
    r"train(?<![a-zA-Z0-9]train)(?:\s*\((?!\s*(?:\)|self\.training\s*\)))|(?!_loader|_data)(?:_\w*|[A-Z]\w*)\s*\()",
    r"fit(?<![a-zA-Z0-9]fit)(?:_\w*|[A-Z]\w*)?\s*\(",
    r"fine_?tune\w*\s*\(",
    r"optimi[sz]e(?:_\w*|[A-Z]\w*)?\s*\(",
)
