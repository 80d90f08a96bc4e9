"""Writes what must not be written by hand: docs/rules/*.md, the rule table in README.md, and outputs shown on pages.

An output stands between ``<!-- output: torchlint … -->`` and ``<!-- end -->`` and is what that command prints in the
root of the repository. Run ``python docs/generate.py`` after a change; a test fails as long as a page is stale.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from torchlint.findings import Safety
from torchlint.rule_docs import declared_safeties
from torchlint.rules.rule import SECTIONS, Rule, documentation
from torchlint.selection import available_rules

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- rules: begin (generated) -->", "<!-- rules: end -->"
_OUTPUT = re.compile(r"(?P<open><!-- output: (?P<command>torchlint [^\n]*) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
_FIX_WORDS = {Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.MANUAL: "by hand"}


def pages() -> dict[Path, str]:
    """The text each generated page should have, by path."""
    rules = available_rules()
    found = {ROOT / "docs" / "rules" / f"{rule.code}.md": rule_page(rule) for rule in rules}
    found[ROOT / "docs" / "rules" / "README.md"] = f"# Rules\n\n{rule_table(rules, '')}"
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text("utf-8")
        if _OUTPUT.search(text) or path.name == "README.md":
            found[path] = with_outputs(text)
    readme = ROOT / "README.md"
    head, begin, rest = found[readme].partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"README.md has lost the marks {BEGIN} and {END} around the rule table")
    found[readme] = f"{head}{BEGIN}\n{rule_table(rules, 'docs/rules/')}{END}{tail}"
    return found


def with_outputs(text: str) -> str:
    """A page with every output as its command prints it now."""
    return _OUTPUT.sub(lambda match: f"{match['open']}{_shown(match['command'])}{match['close']}", text)


def _shown(command: str) -> str:
    words = [sys.executable, "-m", *shlex.split(command)]
    env = os.environ | {"NO_COLOR": "1", "COLUMNS": "120", "TORCHLINT_LANG": "en"}
    done = subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    language = "diff" if "--diff" in words else "text"
    return f"```{language}\n$ {command}\n{done.stdout.rstrip()}\n```\n"


def rule_table(rules: tuple[type[Rule], ...], folder: str) -> str:
    """All rules as a Markdown table; links start with ``folder``."""
    rows = ["| code | name | reports | fix |", "|---|---|---|---|"]
    for rule in rules:
        summary = documentation(rule)[""].strip().rstrip(".")
        fixes = ", ".join(word for safety, word in _FIX_WORDS.items() if safety in declared_safeties(rule))
        off = "" if rule.default else " (off unless selected)"
        rows.append(f"| [{rule.code}]({folder}{rule.code}.md) | {rule.name} | {summary}{off} | {fixes} |")
    return "\n".join(rows) + "\n"


def rule_page(rule: type[Rule]) -> str:
    """The page of one rule."""
    parts = documentation(rule)
    lines = [f"# {rule.code} {rule.name}", "", parts[""].strip(), ""]
    if not rule.default:
        lines += [f"Off by default; `--extend-select {rule.code}` switches it on.", ""]
    for section in SECTIONS:
        lines += [f"## {section}", "", parts.get(section, "").strip(), ""]
    return "\n".join(lines)


def main() -> None:
    """Write what has changed and say so."""
    for path, text in pages().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
