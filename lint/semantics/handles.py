"""What a dataset keeps open: files, databases, and things that only their own process can use."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from torchlint.semantics.datasets import is_builtin
from torchlint.semantics.tree import FunctionNode, walk
from torchlint.semantics.values import Known

if TYPE_CHECKING:
    from torchlint.semantics.program import Program

_FILES = frozenset({
    "io.open", "gzip.open", "bz2.open", "lzma.open", "zipfile.ZipFile", "tarfile.open",
    "tarfile.TarFile", "cv2.VideoCapture", "decord.VideoReader",
    "rasterio.open", "av.open", "shelve.open", "dbm.open", "openslide.OpenSlide", "mmap.mmap",
})  # fmt: skip
_LMDB = frozenset({"lmdb.open", "lmdb.Environment"})
_DATABASES = _LMDB | frozenset({
    "lmdb.Environment.begin", "sqlite3.connect", "psycopg2.connect", "pymongo.MongoClient", "pyodbc.connect",
    "h5py.File", "tables.open_file", "netCDF4.Dataset",
})  # fmt: skip
_LOCKS = frozenset({
    "threading.Lock", "threading.RLock", "multiprocessing.Pool", "concurrent.futures.ThreadPoolExecutor",
})  # fmt: skip
_OPEN = frozenset({"open"})


class Kept(enum.Enum):
    """What an expression keeps open."""

    FILE = "file"  # forked processes share its position
    DATABASE = "database"  # a connection, or an HDF5 file, that must not be used after a fork
    OWN = "own"  # cannot be pickled, but a forked copy works: a lock, an LMDB opened without locks


def kept(program: Program, expr: ast.expr, depth: int = 5) -> Kept | None:
    """What an expression keeps open itself, or reads through; None when it shows nothing."""
    if depth == 0:
        return None
    if isinstance(expr, ast.Subscript):
        return None if _copies(expr) else kept(program, expr.value, depth - 1)
    if isinstance(expr, ast.Name):
        values = [b.value for b in program.scopes.reaching(expr) if b.kind in ("assign", "walrus")]
        return next((k for v in values if v is not None and (k := kept(program, v, depth - 1))), None)
    if isinstance(expr, ast.Call):
        return _of_call(program, expr, depth)
    if isinstance(expr, ast.List | ast.Tuple):
        return next((k for element in expr.elts if (k := kept(program, element, depth - 1))), None)
    if isinstance(expr, ast.ListComp):
        return kept(program, expr.elt, depth - 1)
    return None


def _of_call(program: Program, call: ast.Call, depth: int) -> Kept | None:
    name = program.names.one(call.func)
    if name in _LMDB and _is_off(program, call, "lock"):
        return Kept.OWN
    if name in _DATABASES:
        return Kept.DATABASE
    if name in _FILES or is_builtin(program, call.func, _OPEN):
        return Kept.FILE
    if name in _LOCKS:
        return Kept.OWN
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("begin", "cursor"):
        return kept(program, call.func.value, depth - 1)
    return None


def _is_off(program: Program, call: ast.Call, name: str) -> bool:
    word = next((w.value for w in call.keywords if w.arg == name), None)
    value = program.values.constant(word) if word is not None else None
    return isinstance(value, Known) and value.value is False


def _copies(expr: ast.Subscript) -> bool:
    """``file["x"][:]`` and ``file["x"][()]`` read everything into memory."""
    return isinstance(expr.slice, ast.Slice | ast.Tuple)


def is_let_go(function: FunctionNode, instance: str | None, name: str) -> bool:
    """Whether a constructor closes, deletes or overwrites with None what it has opened under an attribute."""
    for node in walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "close":
            if _is_attribute(node.func.value, instance, name):
                return True
        elif isinstance(node, ast.Delete):
            if any(_is_attribute(target, instance, name) for target in node.targets):
                return True
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None:
            later = any(
                isinstance(other, ast.Assign)
                and other.lineno < node.lineno
                and any(_is_attribute(target, instance, name) for target in other.targets)
                for other in walk(function)
            )
            if later and any(_is_attribute(target, instance, name) for target in node.targets):
                return True
    return False


def is_opened_by(function: FunctionNode, instance: str | None, name: str) -> bool:
    """Whether a method gives an attribute another value: it may open it anew in each worker."""
    return any(
        _is_attribute(target, instance, name)
        for node in walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _is_attribute(node: ast.expr, instance: str | None, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == instance
    )
