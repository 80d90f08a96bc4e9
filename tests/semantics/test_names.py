"""Dotted names through every spelling of an import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchlint.semantics.names import UNKNOWN, canonical
from torchlint.semantics.program import Program, parse
from torchlint.semantics.project import Project
from torchlint.source import read_source

LOADER = "torch.utils.data.DataLoader"


def names_of(text: str, project: Project | None = None, path: str = "module.py") -> frozenset[str]:
    """What the callee of the last call stands for."""
    source = read_source(path, text.encode())
    program = Program(source, parse(source), project)
    return program.names.of(program.tree.calls[-1].func)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.utils.data.DataLoader(d)",
        "import torch as t\nt.utils.data.DataLoader(d)",
        "import torch.utils.data\ntorch.utils.data.DataLoader(d)",
        "import torch.utils.data as tud\ntud.DataLoader(d)",
        "from torch.utils import data\ndata.DataLoader(d)",
        "from torch import utils\nutils.data.DataLoader(d)",
        "from torch.utils.data import DataLoader\nDataLoader(d)",
        "from torch.utils.data import DataLoader as Feeder\nFeeder(d)",
        "from torch.utils.data.dataloader import DataLoader\nDataLoader(d)",
        "from torch.utils.data import *\nDataLoader(d)",
        "from helpers import *\ntorch.utils.data.DataLoader(d)",
        "torch.utils.data.DataLoader(d)",
        "import torch.utils.data as tud\nFeeder = tud.DataLoader\nFeeder(d)",
        "def f():\n    from torch.utils.data import DataLoader\n    return DataLoader(d)",
        "DataLoader = None\ntry:\n    from torch.utils.data import DataLoader\nexcept ImportError:\n    pass\nDataLoader(d)",
    ],
)
def test_every_spelling_resolves(text: str) -> None:
    assert names_of(text) == {LOADER}


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.data import DataLoader\nclass DataLoader: pass\nDataLoader(d)",
        "from torch.utils.data import DataLoader\ndef f(DataLoader):\n    return DataLoader(d)",
        "from torch_geometric.loader import DataLoader\nDataLoader(d)",
        "from shop.data import DataLoader\nDataLoader(d)",
        "import torch\ntorch = fake()\ntorch.utils.data.DataLoader(d)",
    ],
)
def test_what_is_no_torch_is_not_taken_for_it(text: str) -> None:
    assert LOADER not in names_of(text)


def test_two_imports_of_one_name_are_both_possible() -> None:
    text = (
        "try:\n    from tensorboardX import SummaryWriter\n"
        "except ImportError:\n    from torch.utils.tensorboard import SummaryWriter\nSummaryWriter()\n"
    )
    assert names_of(text) == {"tensorboardX.SummaryWriter", "torch.utils.tensorboard.SummaryWriter"}


def test_a_choice_lists_both_arms() -> None:
    text = "import torch\nload = torch.load if new else old\nload(p)\n"
    assert names_of(text) == {"torch.load", "builtins.old"}


def test_private_and_old_paths_have_one_public_name() -> None:
    assert canonical("torch.serialization.load") == "torch.load"
    assert canonical("torch.utils.model_zoo.load_url") == "torch.hub.load_state_dict_from_url"
    assert canonical("numpy.load") == "numpy.load"


def test_a_name_defined_through_itself_is_unknown() -> None:
    assert UNKNOWN in names_of("f = f\nf(1)\n")


def test_names_through_a_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "common.py").write_text("import torch\nfrom torch.utils.data import DataLoader\n")
    (tmp_path / "again.py").write_text("from common import *\n")
    project = Project(str(tmp_path))
    here = str(tmp_path / "main.py")
    assert names_of("from common import DataLoader\nDataLoader(d)", project, here) == {LOADER}
    assert names_of("from common import *\nDataLoader(d)", project, here) == {LOADER}


def test_definitions_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .small import *\n")
    (tmp_path / "nets" / "small.py").write_text("class Net:\n    pass\n")
    source = read_source(str(tmp_path / "main.py"), b"import nets\nfrom nets import Net\nnets.Net()\nNet()\n")
    program = Program(source, parse(source), Project(str(tmp_path)))
    for call in program.tree.calls:
        found = program.definition(call.func)
        assert found is not None
        assert isinstance(found.node, ast.ClassDef)
        assert found.program.source.path.endswith("small.py")
