"""IPython's additions to Python: what in a notebook cell is not Python, and a stand-in of the same shape for it.

What the lines mean is described in IPython's ``core/inputtransformer2.py``; the stand-ins keep every character count
and every line end, so that an offset into the masked text is an offset into the cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Cell magics that run the rest of the cell as Python in the notebook's own namespace.
_PYTHON_CELL_MAGICS = frozenset(
    ["time", "timeit", "capture", "prun", "debug", "memit", "snakeviz", "pyinstrument", "scalene", "ipytest", "wandb"]
)
_CELL_MAGIC = re.compile(r"(?P<blank>(?:[ \t]*(?:\r\n|\r|\n))*)(?P<line>[ \t]*%%(?P<name>[\w.!]*)[^\r\n]*)")
_MAGIC_START = re.compile(r"[%!?,;/]")
# Line magics whose argument is a Python statement, with their options.
_TIMED = re.compile(r"%(?:time|timeit|prun)[ \t]+(?:-[a-zA-Z]+[ \t]+(?:\d+[ \t]+)?)*(?=[^\s-])")
_INDENT = re.compile(r"[ \t\f]*")
_REST = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|[\s\S])?)*")  # to the end of the line, past line ends behind a backslash
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(
    r"""
      (?P<string>\"{3}(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"{3}|\Z) | '{3}(?:[^'\\]|\\[\s\S]|'(?!''))*(?:'{3}|\Z)
        | "(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*"? | '(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*'?)
    | (?P<comment>\#[^\r\n]*)
    | (?P<continued>\\(?:\r\n|\r|\n))
    | (?P<end>\r\n|\r|\n)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<assign>(?<![=!<>:+\-*/%&|^@~])=[ \t]*(?=!(?!=)|%[^\W\d]))
    | (?P<help>\?)
    | (?P<other>[^"'\#\\\r\n(){}\[\]=?]+ | .)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Masked:
    """A cell as Python: ``text`` has the length and the line ends of the cell.

    ``locked`` are the stretches that differ from the cell or must stay where they are; an edit may not touch them.
    ``foreign`` says that the cell is not Python at all.
    """

    text: str
    locked: tuple[tuple[int, int], ...] = ()
    foreign: bool = False


def mask(cell: str, *, read_timed: bool = True) -> Masked:
    """Replace all that is not Python in a cell. With ``read_timed`` the statement behind ``%time`` is read as one."""
    head = _CELL_MAGIC.match(cell)
    if head is None:
        return _mask_lines(cell, 0, [], read_timed)
    if head["name"].split("%")[0] not in _PYTHON_CELL_MAGICS:
        return foreign(cell)
    # One character early: nothing may be put in front of a cell magic.
    rest = _mask_lines(cell, head.end(), [(-1, head.end())], read_timed)
    return Masked(_blank(cell[: head.end()]) + rest.text[head.end() :], rest.locked)


def foreign(cell: str) -> Masked:
    """A cell of which nothing is read."""
    return Masked(_blank(cell), ((-1, len(cell) + 1),), foreign=True)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _mask_lines(cell: str, at: int, locked: list[tuple[int, int]], read_timed: bool) -> Masked:
    pieces = [cell[:at]]
    while at < len(cell):
        start = _matched_end(_INDENT, cell, at)
        pieces.append(cell[at:start])
        if _MAGIC_START.match(cell, start):
            timed = _TIMED.match(cell, start) if read_timed else None
            if timed:
                at = timed.end()
                pieces.append("pass;".ljust(at - start))
                locked.append((start, at))
                end, statement = _logical_line(cell, at, at, locked)
            else:
                end = _matched_end(_REST, cell, start)
                statement = _stand_in(cell[start:end], "pass", "#")
                locked.append((start, end))
        else:
            end, statement = _logical_line(cell, start, start, locked)
        pieces.append(statement)
        at = end
        line_end = _LINE_END.match(cell, at)
        if line_end:
            pieces.append(line_end.group())
            at = line_end.end()
    return Masked("".join(pieces), tuple(locked))


def _logical_line(cell: str, start: int, at: int, locked: list[tuple[int, int]]) -> tuple[int, str]:
    """Read one logical line: the offset of its end, and its text with shell assignments and help syntax replaced."""
    depth = 0
    helped = False
    while at < len(cell):
        token = _TOKEN.match(cell, at)
        if token is None:
            break
        kind = token.lastgroup
        if kind == "end" and depth == 0:
            break
        at = token.end()
        helped = depth == 0 and (kind == "help" or (helped and token.group().isspace()))
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "assign" and depth == 0:
            end = _matched_end(_REST, cell, at)
            locked.append((at, end))
            return end, cell[start:at] + _stand_in(cell[at:end], "_", "_")
    if helped:
        locked.append((start, at))
        return at, _stand_in(cell[start:at], "0", "#")
    return at, cell[start:at]


def _stand_in(magic: str, statement: str, filler: str) -> str:
    """``statement``, or 0 where there is no room for it, in place of a magic; further lines are blank."""
    first = _LINE_END.search(magic)
    width = first.start() if first else len(magic)
    statement = statement if len(statement) <= width else "0"
    return statement + filler * (width - len(statement)) + _blank(magic[width:])


def _matched_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
