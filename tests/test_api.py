"""The public functions, as other programs call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import torchlint
from torchlint.selection import SelectionError

CODE = "import torch\n\nstate = torch.load('a.pt')\n"
SAFE = "import torch\n\ndef read(model):\n    model.load_state_dict(torch.load('a.pt'))\n"


def test_check_source_gives_findings() -> None:
    [finding] = torchlint.check_source(CODE, "train.py")
    assert (finding.code, finding.path, finding.span.row, finding.span.column) == ("TL501", "train.py", 3, 15)
    assert torchlint.check_source(CODE.encode()) == torchlint.check_source(CODE)


def test_comments_and_selectors_count() -> None:
    assert not torchlint.check_source(CODE.replace("\n", "  # noqa\n"))
    assert not torchlint.check_source(CODE, ignore=["TL5"])
    assert not torchlint.check_source(CODE, select=["TL3"])
    with pytest.raises(SelectionError, match="did you mean 'TL501'"):
        torchlint.check_source(CODE, select=["TL501x"])


def test_fix_source_applies_safe_fixes_and_all_when_asked() -> None:
    assert "map_location" in torchlint.fix_source(SAFE)
    used = CODE + "print(state['epoch'] + state['weights'])\n"
    assert torchlint.fix_source(used) == used
    assert torchlint.fix_source(used, unsafe=True) == used.replace("'a.pt'", "'a.pt', map_location=\"cpu\"")


def test_fix_source_gives_back_the_kind_it_got() -> None:
    latin = "# coding: latin-1\n# é\n" + SAFE
    assert torchlint.fix_source(latin).startswith("# coding: latin-1\n# é\n")
    assert torchlint.fix_source(latin.encode("latin-1")).startswith(b"# coding: latin-1\n# \xe9\n")
    assert torchlint.fix_source("\ufeff" + SAFE).startswith("\ufeff")


@pytest.mark.parametrize("code", ["def broken(:\n", "x = '\udc80'\n", b"x = '\xff'\n", "a = 1\0\n"])
def test_what_cannot_be_read_is_one_error_with_the_name(code: str | bytes) -> None:
    torch_code = code + (
        b"import torch; torch.load('a')" if isinstance(code, bytes) else "import torch; torch.load('a')"
    )
    with pytest.raises(torchlint.TorchlintError, match=r"^here\.py"):
        torchlint.check_source(torch_code, "here.py")


def test_notebooks_by_their_name() -> None:
    cells = [{"cell_type": "code", "source": [CODE], "metadata": {}, "outputs": [], "execution_count": None}]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    [finding] = torchlint.check_source(notebook, "a.ipynb")
    assert (finding.cell, finding.span.row) == (1, 3)
    assert "map_location" in torchlint.fix_source(notebook, "a.ipynb", unsafe=True)


def test_check_paths_gives_one_result_a_file(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text(CODE)
    (tmp_path / "broken.py").write_text(CODE + "def (\n")
    results = {Path(result.path).name: result for result in torchlint.check_paths([tmp_path, tmp_path / "missing"])}
    assert [finding.code for finding in results["bad.py"].findings] == ["TL501"]
    assert not results["good.py"].findings
    assert results["broken.py"].problems
    assert results["missing"].problems


def test_public_names_are_all_there() -> None:
    assert all(getattr(torchlint, name) for name in torchlint.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchlint.nothing  # noqa: B018
