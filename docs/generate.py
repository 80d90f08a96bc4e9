"""Writes what must not be written by hand: docs/rules/ (English and Chinese), the rule table in README.md, outputs on pages.

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
from torchlint.reports.rule_pages import sections, summary
from torchlint.rule_docs import declared_safeties
from torchlint.rules.rule import Rule
from torchlint.selection import available_rules

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- rules: begin (generated) -->", "<!-- rules: end -->"
_OUTPUT = re.compile(r"(?P<open><!-- output: (?P<command>torchlint [^\n]*) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
_IN_RUNTIME = re.compile(r"^- `(?P<name>torchlint\.runtime\.(?P<module>\w+)[\w.]*)`$", re.MULTILINE)
_RUNTIME_WORDS = {"en": "in the reference trainer: ", "zh": "参考训练程序中的写法 "}
_OFF_WORDS = {
    "en": "Off by default; `--extend-select {code}` switches it on.",
    "zh": "默认关闭 (用 `--extend-select {code}` 启用)。",
}
_FIX_WORDS = {Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.MANUAL: "by hand"}


def pages() -> dict[Path, str]:
    """The text each generated page should have, by path."""
    rules = available_rules()
    folder = ROOT / "docs" / "rules"
    found = {folder / f"{rule.code}.md": rule_page(rule, "en") for rule in rules}
    found |= {folder / "zh" / f"{rule.code}.md": rule_page(rule, "zh") for rule in rules}
    found[folder / "README.md"] = f"# Rules\n\n[中文](zh/README.md)\n\n{rule_table(rules, '')}"
    found[folder / "zh" / "README.md"] = f"# 规则\n\n[English](../README.md)\n\n{chinese_table(rules)}"
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
        fixes = ", ".join(word for safety, word in _FIX_WORDS.items() if safety in declared_safeties(rule))
        off = "" if rule.default else " (off unless selected)"
        rows.append(
            f"| [{rule.code}]({folder}{rule.code}.md) | {rule.name} | {summary(rule).rstrip('.')}{off} | {fixes} |"
        )
    return "\n".join(rows) + "\n"


def chinese_table(rules: tuple[type[Rule], ...]) -> str:
    """All rules with their Chinese summaries as a Markdown table."""
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {summary(rule, 'zh').rstrip('。')} |" for rule in rules]
    return "\n".join(["| 代码 | 名称 | 报告什么 |", "|---|---|---|", *rows]) + "\n"


def rule_page(rule: type[Rule], language: str) -> str:
    """The page of one rule in a language; its references to the reference trainer become links to the files."""
    other, up = ("[中文](zh/{}.md)", "../../") if language == "en" else ("[English](../{}.md)", "../../../")
    lines = [f"# {rule.code} {rule.name}", "", summary(rule, language), "", other.format(rule.code), ""]
    if not rule.default:
        lines += [_OFF_WORDS[language].format(code=rule.code), ""]
    for heading, body in sections(rule, language).values():
        lines += [f"## {heading}", "", body.strip(), ""]
    link = rf"- {_RUNTIME_WORDS[language]}[`\g<name>`]({up}runtime/\g<module>.py)"
    return _IN_RUNTIME.sub(link, "\n".join(lines))


def main() -> None:
    """Write what has changed and say so."""
    for path, text in pages().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
