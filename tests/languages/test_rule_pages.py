"""Rule pages in Chinese have what the English ones have, with the same code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.catalogue import rule_page
from torchlint.reports.rule_pages import sections
from torchlint.rule_docs import python_blocks
from torchlint.rules.rule import SECTIONS, documentation
from torchlint.selection import available_rules

ROOT = Path(__file__).parent.parent.parent
RULES = {rule.code: rule for rule in available_rules()}
PAGES = sorted(path.stem for path in (ROOT / "lint" / "catalogues" / "zh_rules").glob("*.md"))
HEADINGS = ["检查什么", "为什么重要", "示例", "应改为", "修复的安全性", "何时不报告", "参考资料"]
_CHINESE = re.compile("[\u4e00-\u9fff]")


def test_every_rule_has_its_page() -> None:
    assert set(PAGES) == set(RULES), "a rule has its page in lint/catalogues/zh_rules/"


@pytest.mark.parametrize("code", PAGES)
def test_a_page_has_a_summary_and_all_seven_sections(code: str) -> None:
    page = rule_page(code, "zh")
    assert page is not None
    assert _CHINESE.search(page.partition("\n")[0])
    assert re.findall("^## (.+)$", page, re.MULTILINE) == HEADINGS
    translated = sections(RULES[code], "zh")
    assert list(translated) == list(SECTIONS)
    for title in ("What it does", "Why it matters", "Fix safety", "Stays quiet when"):
        assert _CHINESE.search(translated[title][1]), title


@pytest.mark.parametrize("code", PAGES)
def test_code_references_and_the_number_of_points_are_those_of_the_english_page(code: str) -> None:
    english, translated = documentation(RULES[code]), sections(RULES[code], "zh")
    for title in ("Example", "Use instead"):
        assert python_blocks(translated[title][1]) == python_blocks(english[title])
    assert translated["References"][1] == english["References"].strip()
    points = [
        re.findall("^- ", body, re.MULTILINE)
        for body in (translated["Stays quiet when"][1], english["Stays quiet when"])
    ]
    assert len(points[0]) == len(points[1]), "the pages have to change together"
