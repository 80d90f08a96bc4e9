from __future__ import annotations

import pytest

from torchlint.fixers.calls import cuda_to_device, move_into_factory


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x.cuda()", "x.to(device)", id="bare"),
        pytest.param("x.cuda(0)", "x.to(device)", id="index"),
        pytest.param("x.cuda(None)", "x.to(device)", id="None"),
        pytest.param("x.cuda((0))", "x.to((device))", id="index in parentheses"),
        pytest.param("x.cuda(device=0)", "x.to(device=device)", id="index by keyword"),
        pytest.param("x.cuda(0, True)", "x.to(device, non_blocking=True)", id="second position"),
        pytest.param("x.cuda(0, (True))", "x.to(device, non_blocking=(True))", id="second position in parentheses"),
        pytest.param("x.cuda(non_blocking=True)", "x.to(device, non_blocking=True)", id="non_blocking"),
        pytest.param(
            "x.cuda(\n    non_blocking=True,  # why\n)",
            "x.to(\n    device,\n    non_blocking=True,  # why\n)",
            id="rows",
        ),
        pytest.param(
            "x.cuda(\n    0,  # first\n    True,\n)",
            "x.to(\n    device,  # first\n    non_blocking=True,\n)",
            id="comment",
        ),
        pytest.param("x.cuda().cuda", "x.to(device).cuda", id="attribute behind"),
        pytest.param("self.net[0].cuda()", "self.net[0].to(device)", id="receiver is an expression"),
        pytest.param("(a +\n b).cuda()", "(a +\n b).to(device)", id="receiver on two rows"),
        pytest.param("x.cuda (  )", "x.to (device)", id="blanks"),
        pytest.param("x.cuda(  # first\n)", "x.to(  # first\n    device,\n)", id="comment in empty call"),
        pytest.param("x = lambda b: b.cuda()", "x = lambda b: b.to(device)", id="lambda"),
        pytest.param("x.cuda(*a)", None, id="unpacking"),
        pytest.param("x.cuda(**k)", None, id="keyword unpacking"),
        pytest.param("cuda()", None, id="no method"),
        pytest.param('f"{x.cuda()}"', None, id="inside an f-string"),
    ],
)
def test_cuda_becomes_to(rewrite, call, before, after):
    assert rewrite(before, lambda source, tree: cuda_to_device(source, tree, call(tree, "cuda"), "device")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("torch.zeros(2, 3).cuda()", "torch.zeros(2, 3, device=device)", id="bare"),
        pytest.param("torch.zeros(2, 3).cuda(0)", "torch.zeros(2, 3, device=device)", id="index"),
        pytest.param("(torch.zeros(2)\n    .cuda())", "(torch.zeros(2, device=device))", id="chain on two rows"),
        pytest.param("torch.zeros(\n    2,\n).cuda()", "torch.zeros(\n    2,\n    device=device,\n)", id="rows"),
        pytest.param("f(torch.ones(1).cuda().x)", "f(torch.ones(1, device=device).x)", id="attribute behind"),
        pytest.param("torch.zeros(2, device=d).cuda()", None, id="device given"),
        pytest.param("torch.zeros(2, **k).cuda()", None, id="device perhaps given"),
        pytest.param("torch.zeros(2).cuda(non_blocking=True)", None, id="more than the device"),
        pytest.param("(torch.zeros(2)  # why\n    .cuda())", None, id="a comment would be lost"),
        pytest.param("x.cuda()", None, id="no call before"),
    ],
)
def test_device_moves_into_the_factory(rewrite, call, before, after):
    assert rewrite(before, lambda source, tree: move_into_factory(source, tree, call(tree, "cuda"), "device")) == after


def test_nested_calls_are_both_rewritten(rewrite):
    def verb(source, tree):
        return tuple(
            edit for each in tree.calls if each.func.attr == "cuda" for edit in cuda_to_device(source, tree, each, "d")
        )

    assert rewrite("f.add(a.cuda(), b.cuda(0)).cuda()", verb) == "f.add(a.to(d), b.to(d)).to(d)"
