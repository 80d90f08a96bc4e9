"""What an expression says about a device, which calls move, and which device can be written where."""

from __future__ import annotations

import ast

import pytest

from torchlint.semantics.device_choice import choices, location
from torchlint.semantics.devices import place
from torchlint.semantics.moves import cuda_calls, moves
from torchlint.semantics.program import Program, parse
from torchlint.source import read_source


def program(text: str) -> Program:
    source = read_source("script.py", ("import torch\n" + text).encode())
    return Program(source, parse(source))


def argument(of: Program, name: str = "to") -> ast.expr:
    """The first argument of the last call of that name."""
    calls = [c for c in of.tree.calls if ast.unparse(c.func).rpartition(".")[2] == name]
    return calls[-1].args[0]


def here(of: Program) -> ast.Call:
    """The call of ``here()``."""
    return next(c for c in of.tree.calls if isinstance(c.func, ast.Name) and c.func.id == "here")


@pytest.mark.parametrize(
    "text",
    [
        "x.to('cuda')",
        "x.to('cuda:1')",
        "x.to('mps')",
        "x.to(0)",
        "x.to(torch.device('cuda', rank))",
        "x.to(f'cuda:{rank}')",
        "x.to('cuda:' + str(rank))",
        "x.to('cuda:%d' % rank)",
        "x.to('cuda:{}'.format(rank))",
        "x.to('cuda' if torch.cuda.is_available() else 'cpu')",
        "device = 'cuda' if use else 'cpu'\nx.to(device)",
        "where = torch.device(name)\nx.to(where)",
        "d = torch.accelerator.current_accelerator()\nx.to(d)",
        "d = torch.cuda.current_device()\nx.to(d)",
        "def f(x, device):\n    x.to(device)",
        "def f(x, where: torch.device):\n    x.to(where)",
        "def f(x, local_rank):\n    x.to(local_rank)",
        "x.to(args.device)",
        "x.to(self.cfg.gpu_id)",
        "x.to(config['device'])",
        "x.to(devices[1])",
        "x.to(get_device())",
    ],
)
def test_devices(text: str) -> None:
    of = program(text)
    found = place(of, argument(of))
    assert found.device
    assert not found.cpu


@pytest.mark.parametrize(
    "text",
    [
        "x.to(torch.float16)",
        "x.to(torch.channels_last)",
        "x.to(dtype)",
        "x.to(other)",
        "x.to(other.device)",
        "x.to(next(net.parameters()).device)",
        "x.to(True)",
        "def f(x, dtype: torch.dtype):\n    x.to(dtype)",
        "def f(x, y: torch.Tensor):\n    x.to(y)",
        "def f(x, use_gpu):\n    x.to(use_gpu)",
        "def f(x, num_gpus):\n    x.to(num_gpus)",
        "from lib import set_device\nx.to(set_device)",
        "count = 4\nx.to(count)",
    ],
)
def test_not_devices(text: str) -> None:
    of = program(text)
    assert not place(of, argument(of)).device


@pytest.mark.parametrize("text", ["x.to('cpu')", "cpu = torch.device('cpu')\nx.to(cpu)", "x.to(torch.device('cpu'))"])
def test_the_cpu_for_sure(text: str) -> None:
    of = program(text)
    assert place(of, argument(of)).cpu


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("x.to('cuda')", "none"),
        ("x.to('cuda:1')", ast.dump(ast.Constant(1))),
        ("x.to(f'cuda:{rank}')", "Name(id='rank', ctx=Load())"),
        ("x.to(torch.device('cuda', rank))", "Name(id='rank', ctx=Load())"),
        ("x.to(torch.device('cuda' if use else 'cpu'))", "none"),
        ("x.to('cuda:0' if use else 'cuda:1')", None),
    ],
)
def test_the_index_a_device_names(text: str, index: str | None) -> None:
    of = program(text)
    assert place(of, argument(of)).index == index


def test_a_number_is_told_from_a_device() -> None:
    numbered, named = program("def f(x, rank):\n    x.to(rank)"), program("def f(x, device):\n    x.to(device)")
    assert place(numbered, argument(numbered)).number
    assert not place(named, argument(named)).number


def test_following_another_tensor_is_no_move_of_its_own() -> None:
    assert not moves(program("def f(x, y):\n    device = y.device\n    return x.to(device)"))
    assert moves(program("def f(x, net):\n    device = next(net.parameters()).device\n    return x.to(device)"))


@pytest.mark.parametrize(
    "text",
    [
        "x.cuda()",
        "net.head.cuda(0)",
        "torch.zeros(2).cuda()",
        "(a + b).cuda(non_blocking=True)",
        "from nets import net\nnet.cuda()",
    ],
)
def test_cuda_calls(text: str) -> None:
    assert len(list(cuda_calls(program(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "torch.cuda.synchronize()",
        "import tvm\ntvm.cuda(0)",
        "x.cuda",
        "class A:\n    def cuda(self):\n        self.x.cuda()",
        "class A:\n    def cuda(self):\n        return self\nA().cuda()",
        "class A:\n    def cuda(self):\n        return self\ndef f(a):\n    a.cuda()",
    ],
)
def test_other_things_called_cuda(text: str) -> None:
    assert not list(cuda_calls(program(text)))


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("device = torch.device('cuda')\nhere()", ["device"]),
        ("here()\ndevice = torch.device('cuda')", []),
        ("if use:\n    device = torch.device('cuda')\nhere()", []),
        ("if use:\n    device = 'cuda'\nelse:\n    device = 'cpu'\nhere()", ["device"]),
        ("device = torch.device('cpu')\nhere()", []),
        ("def f(device):\n    here()", ["device"]),
        ("def f(train_on_gpu, num_devices):\n    here()", []),
        ("device = torch.device('cuda')\ndef f():\n    here()", ["device"]),
        ("if __name__ == '__main__':\n    device = torch.device('cuda')\ndef f():\n    here()", []),
        ("def f(x, args):\n    x.to(args.device)\n    here()", ["args.device"]),
        ("def f(x, args):\n    x.to(args.device)\ndef g(x):\n    here()", []),
        ("x.to('cuda')\nhere()", ["'cuda'"]),
        ("from lib import DeviceType\nhere()", []),
        ("from torch import device\nhere()", []),
        ("device_name = torch.cuda.get_device_name(0)\nhere()", []),
        ("for device in ('cuda', 'cpu'):\n    here()", ["device"]),
    ],
)
def test_devices_that_can_be_written(text: str, texts: list[str]) -> None:
    of = program(text)
    assert [choice.text for choice in choices(of, here(of))] == texts


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("def __init__(self, d):\n        self.device = d\n        here()", ["self.device"]),
        ("def __init__(self, d):\n        here()\n        self.device = d", []),
        ("def __init__(self, d):\n        self.device = d\n    def f(self):\n        here()", ["self.device"]),
        ("def f(self):\n        here()", []),
        ("@property\n    def device(self):\n        return 'cuda'\n    def f(self):\n        here()", ["self.device"]),
        ("device = 'cuda'\n    def f(self):\n        here()", ["self.device"]),
        ("def __init__(self):\n        self.device = 'cpu'\n    def f(self):\n        here()", []),
    ],
)
def test_the_device_of_an_instance(body: str, texts: list[str]) -> None:
    of = program(f"class A:\n    {body}\n")
    assert [choice.text for choice in choices(of, here(of))] == texts


def test_a_framework_gives_its_modules_a_device() -> None:
    of = program("import lightning as L\nclass A(L.LightningModule):\n    def f(self):\n        here()\n")
    assert location(of, here(of)) == "self.device"


def test_an_index_is_no_location() -> None:
    of = program("def f(x, rank):\n    x.to(rank)\n    here()")
    assert location(of, here(of)) is None


def test_several_devices_are_no_location() -> None:
    of = program("def f(x, source_device, target_device):\n    here()")
    assert location(of, here(of)) is None
