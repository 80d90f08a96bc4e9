"""The closing line, and the table of how often each rule reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from torchlint.findings import Finding, Safety, Text, text


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


def summary(tally: Tally, fixed: int = 0, render: Callable[[Text], str] = str) -> str:
    """One or two sentences: what was found, and what could fix it."""
    sentences = [_first(tally, fixed, render), _fixable(tally)]
    return " ".join(render(sentence) for sentence in sentences if sentence is not None) + "\n"


def _first(tally: Tally, fixed: int, render: Callable[[Text], str]) -> Text:
    found, files = render(count_errors(tally.findings)), render(count_files(len(tally.files)))
    if fixed and tally.findings:
        return text(
            "Fixed {errors}, {left} left in {files}.", errors=render(count_errors(fixed)), left=found, files=files
        )
    if fixed:
        return text("Fixed {errors}, nothing left.", errors=render(count_errors(fixed)))
    if tally.findings:
        return text("Found {errors} in {files}.", errors=found, files=files)
    return text("All checks passed ({files}).", files=render(count_files(tally.checked)))


def _fixable(tally: Tally) -> Text | None:
    safe, unsafe = tally.safe, tally.unsafe
    if safe and unsafe:
        return text("{safe} fixable with `torchlint fix`, {unsafe} more with --unsafe-fixes.", safe=safe, unsafe=unsafe)
    if safe:
        return text("{safe} fixable with `torchlint fix`.", safe=safe)
    if unsafe:
        return text("{unsafe} fixable with `torchlint fix --unsafe-fixes`.", unsafe=unsafe)
    return None


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


def count_errors(number: int) -> Text:
    """``1 error``, ``2 errors``."""
    return text("{number} error", number=number) if number == 1 else text("{number} errors", number=number)


def count_files(number: int) -> Text:
    """``1 file``, ``2 files``."""
    return text("{number} file", number=number) if number == 1 else text("{number} files", number=number)


def count_findings(number: int) -> Text:
    """``1 finding``, ``2 findings``."""
    return text("{number} finding", number=number) if number == 1 else text("{number} findings", number=number)
