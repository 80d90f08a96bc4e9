"""TL501 unmapped-load."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.findings import Finding, Severity, text
from torchlint.rules.rule import Rule
from torchlint.semantics.program import Program
from torchlint.semantics.values import ABSENT, UNKNOWN, Known


class UnmappedLoad(Rule):
    """docs to come"""

    code = "TL501"
    name = "unmapped-load"
    severity = Severity.ERROR
    screen = re.compile(rb"\bload")

    def check(self, program: Program) -> Iterator[Finding]:
        for call in program.calls_to("torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url"):
            given = program.values.argument(call, "map_location", 1)
            if UNKNOWN in given or not all(v is ABSENT or self._none(program, v) for v in given):
                continue
            yield self.finding(program, call, text("`torch.load` without `map_location`"), text("add it"))

    def _none(self, program: Program, value: object) -> bool:
        constant = program.values.constant(value) if isinstance(value, ast.expr) else UNKNOWN
        return isinstance(constant, Known) and constant.value is None
