"""TL301 missing-eval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.findings import Finding, Severity, text
from torchlint.rules.rule import Rule
from torchlint.semantics.evalmode import exposures
from torchlint.semantics.program import Program


class MissingEval(Rule):
    """docs to come"""

    code = "TL301"
    name = "missing-eval"
    severity = Severity.ERROR
    screen = re.compile(rb"no_grad|inference_mode|set_grad_enabled")

    def check(self, program: Program) -> Iterator[Finding]:
        for found in exposures(program):
            message = text("runs in train mode {mode}", mode=f"{found.status.mode!r} {program.code(found.event.node.func) if found.event.program is program else '?'} {found.dependence.name} {'UNKNOWN CALLERS' if found.callers_unknown else ''}")
            yield self.finding(program, found.region.node, message, text("call eval()"))
