"""Names without which a file saves nothing; a module of its own, for screens need them alone."""

from __future__ import annotations

import re

SAVING_CALLS = (
    re.compile(rb"save(?!_for_backward)(?:\w*\s*\(|(?:_file)?(?:\b(?<=\.save)|\s*[),#\n\r]|\s+as\b|\Z))"),
    *(
        re.compile(word + rb"\w*\s*\(")
        for word in (b"checkpoint", b"Checkpoint", b"ckpt", b"snapshot", b"Snapshot", b"Save", b"SAVE")
    ),
)
"""One of these is found in every file with a save: a call by such a name, or another name for one."""
