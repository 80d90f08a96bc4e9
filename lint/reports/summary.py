"""The closing line, and the table of how often each rule reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from torchlint.findings import Finding, Safety


@dataclass
class Tally:
    """Counts over a run; memory does not grow with the number of findings."""

    findings: int = 0
    safe: int = 0
    unsafe: int = 0
    known: int = 0
    silenced: int = 0
    checked: int = 0
    files: set[str] = field(default_factory=set)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    fixable: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings that are reported."""
        for finding in findings:
            key = (finding.code, finding.name)
            self.findings += 1
            self.files.add(finding.path)
            self.codes[key] += 1
            if finding.fix is not None and finding.fix.applicable:
                self.fixable[key] += 1
                if finding.fix.safety is Safety.SAFE:
                    self.safe += 1
                else:
                    self.unsafe += 1


def summary(tally: Tally, fixed: int = 0) -> str:
    """One or two sentences: what was found, and what could fix it."""
    if fixed:
        left = f"{count(tally.findings, 'error')} left" if tally.findings else "nothing left"
        first = f"Fixed {count(fixed, 'error')}, {left}{_places(tally)}."
    elif tally.findings:
        first = f"Found {count(tally.findings, 'error')}{_places(tally)}."
    else:
        first = f"All checks passed ({count(tally.checked, 'file')})."
    return " ".join(part for part in (first, _fixes(tally, fixed)) if part) + "\n"


def _places(tally: Tally) -> str:
    return f" in {count(len(tally.files), 'file')}" if tally.findings else ""


def _fixes(tally: Tally, fixed: int) -> str:
    unsafe = "`torchlint fix --unsafe-fixes`"
    if tally.safe and tally.unsafe:
        return f"{tally.safe} fixable with `torchlint fix`, {tally.unsafe} more with --unsafe-fixes."
    if tally.safe:
        return f"{tally.safe} fixable with `torchlint fix`."
    if tally.unsafe:
        return f"{tally.unsafe} fixable with {unsafe}."
    return ""


def statistics(tally: Tally) -> str:
    """One line for each rule that reports: count, code, whether all, some or none can be fixed, name."""
    rows = sorted(tally.codes.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(str(number)) for _, number in rows), default=0)
    lines = []
    for (code, name), number in rows:
        can = tally.fixable[(code, name)]
        box = "[*]" if can == number else "[-]" if can else "[ ]"
        lines.append(f"{number:>{width}}  {code}  {box} {name}")
    return "".join(line + "\n" for line in lines)


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
