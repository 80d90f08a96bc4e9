from __future__ import annotations

import pytest

from torchlint.fixers.imports import add_import
from torchlint.semantics.program import parse
from torchlint.semantics.tree import build_tree
from torchlint.source import read_source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x = 1\n", "import os\n\nx = 1\n", id="no imports"),
        pytest.param("# license\n\nx = 1\n", "# license\n\nimport os\n\nx = 1\n", id="comment first"),
        pytest.param("x = 1\nimport torch\n", "x = 1\nimport os\n\nimport torch\n", id="code before the first import"),
        pytest.param('"""Doc."""\n\nx = 1\n', '"""Doc."""\n\nimport os\n\nx = 1\n', id="docstring"),
        pytest.param('"""Doc."""\nx = 1\n', '"""Doc."""\n\nimport os\n\nx = 1\n', id="docstring directly above"),
        pytest.param('"""Doc."""', '"""Doc."""\nimport os', id="only a docstring"),
        pytest.param(
            "from __future__ import annotations\n\nimport torch\n",
            "from __future__ import annotations\n\nimport os\n\nimport torch\n",
            id="future import",
        ),
        pytest.param(
            "import torch\nimport numpy\n", "import os\n\nimport torch\nimport numpy\n", id="third-party group first"
        ),
        pytest.param(
            "import argparse\nimport sys\n\nimport torch\n",
            "import argparse\nimport os\nimport sys\n\nimport torch\n",
            id="sorted group",
        ),
        pytest.param(
            "import argparse\nimport json\nx\n", "import argparse\nimport json\nimport os\nx\n", id="last of its group"
        ),
        pytest.param(
            "from sys import path\nimport torch\n", "from sys import path\nimport os\nimport torch\n", id="mixed group"
        ),
        pytest.param(
            "from sys import path\nx\n", "import os\nfrom sys import path\nx\n", id="plain imports come first"
        ),
        pytest.param("import sys\r\nx\r\n", "import os\r\nimport sys\r\nx\r\n", id="CRLF"),
        pytest.param("import sys; import json\n", "import os\nimport sys; import json\n", id="two on a row"),
        pytest.param(
            "from a import (\n    b,\n)\nx\n", "import os\n\nfrom a import (\n    b,\n)\nx\n", id="import of many rows"
        ),
        pytest.param("import os.path\nx\n", "import os\nimport os.path\nx\n", id="a submodule binds the same name"),
        pytest.param(
            "def f():\n    import os\n", "import os\n\ndef f():\n    import os\n", id="bound in a function only"
        ),
        pytest.param(
            "try:\n    import os\nexcept E:\n    pass\n",
            "import os\n\ntry:\n    import os\nexcept E:\n    pass\n",
            id="bound on some path only",
        ),
    ],
)
def test_a_module_is_imported(rewrite, before, after):
    found = []

    def verb(source, tree):
        found.append(add_import(source, tree, "import os"))
        return found[0].edits

    assert rewrite(before, verb) == after
    assert found[0].name == "os"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import os\n", "os"),
        ("import sys, os\n", "os"),
        ("import os as o\n", "o"),
        ("import sys\nimport os  # x\n", "os"),
    ],
)
def test_an_import_that_is_there_is_used(code, name):
    source = read_source("x.py", code.encode())
    found = add_import(source, build_tree(parse(source)), "import os")
    assert found is not None
    assert (found.edits, found.name) == ((), name)


@pytest.mark.parametrize(
    "code",
    [
        "os = 1",
        "def f(os): pass",
        "def os(): pass",
        "class os: pass",
        "import os2 as os",
        "from a import os",
        "for os in x: pass",
        "with a as os: pass",
        "try: pass\nexcept E as os: pass",
        "[os for os in x]",
        "lambda os: 1",
        "match x:\n    case os: pass",
    ],
)
def test_a_name_that_means_something_else_is_refused(code):
    source = read_source("x.py", code.encode())
    assert add_import(source, build_tree(parse(source)), "import os") is None


def test_an_import_below_its_use_does_not_count(rewrite):
    def verb(source, tree):
        use = tree.calls[0]
        return add_import(source, tree, "import os", use).edits

    assert rewrite("f()\nimport os\n", verb) == "import os\n\nf()\nimport os\n"
    assert rewrite("def g(): f()\nimport os\n", verb) == "def g(): f()\nimport os\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "import os\nimport torch\n",
            "import os\nimport torch\nfrom copy import deepcopy\n",
            id="behind plain imports",
        ),
        pytest.param(
            "import os\nfrom abc import ABC\nfrom enum import Enum\n",
            "import os\nfrom abc import ABC\nfrom copy import deepcopy\nfrom enum import Enum\n",
            id="sorted",
        ),
        pytest.param("from copy import deepcopy\n", "from copy import deepcopy\n", id="there already"),
        pytest.param("import torch\n", "from copy import deepcopy\n\nimport torch\n", id="third-party group first"),
        pytest.param(
            "from . import a\nfrom .b import c\n",
            "from copy import deepcopy\n\nfrom . import a\nfrom .b import c\n",
            id="relative imports",
        ),
    ],
)
def test_a_member_is_imported(rewrite, before, after):
    assert rewrite(before, lambda s, t: add_import(s, t, "from copy import deepcopy").edits) == after
