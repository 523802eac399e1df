"""
The changes that tests should notice: one vendor constant, or one operator of the core's own logic, at a time.

Facts are the numbers, switches and type codes of the room of layouts, of facts.py files, of the raw room's tables and
of the YAML files of platforms. Logic is what stands inside functions of the rooms from ``kernels`` to ``deliverables``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "drynpu"
TESTS = ROOT / "tests" / "core"
FACT_TESTS = (
    *("test_facts.py", "test_ids.py", "test_record_forms.py"),
    *("test_counters.py", "test_platforms.py", "test_load.py"),
)
"""Tests that hold constants against the format pages, by file name. No other test counts for a fact."""
LOGIC_ROOMS = ("simulate", "device", "tables", "analysis", "kernels", "deliverables")


@frozen
class Mutant:
    """
    One change: *source* of the file at *path* with the change in the lines *line* to *last*, *note* for people.
    """

    path: Path
    line: int
    note: str
    source: str
    last: int = 0

    @property
    def place(self) -> str:
        """Where the change is and what it is, for people."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.note}"


def fact_files() -> list[Path]:
    """Return the files that hold vendor constants."""
    yaml = (path for folder in ("platforms",) for path in (CORE / folder).glob("*.yaml"))
    patterns = ("layouts/*.py", "deliverables/*/facts.py", "raw/_*ids.py", "raw/_record_forms.py")
    return sorted([*(path for pattern in patterns for path in CORE.glob(pattern)), *yaml])


def logic_files() -> list[Path]:
    """Return the files of the rooms whose logic is changed, without their facts."""
    files = (path for room in LOGIC_ROOMS for path in sorted((CORE / room).rglob("*.py")))
    return [path for path in files if not path.name.startswith("facts")]


def fact_tests(path: Path) -> tuple[Path, ...]:
    """Return the tests of a file of facts: tests of its group and of its room, the nearest first."""
    parts = path.relative_to(CORE).parts
    folders = [TESTS.joinpath(*parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
    names = dict.fromkeys((f"test_{path.stem}.py", *FACT_TESTS))
    return tuple(test for folder in folders for name in names for test in sorted(folder.glob(name)))


def _numbers(node: ast.Constant) -> list[object]:
    value = node.value
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value * 2] if value > 1 else [value + 1]
    if isinstance(value, float):
        return [value * 2 or 1.0]
    if isinstance(value, str) and value[:2] in ("<u", "<i", "<f") and value[2:].isdigit():
        return [f"{value[:2]}{ {'1': 2, '2': 4, '4': 8, '8': 4}.get(value[2:], 4) }"]
    return []


def fact_mutants(path: Path) -> Iterator[Mutant]:
    """Yield a mutant for each number, type code and size in a file of facts."""
    text = path.read_text()
    if path.suffix == ".yaml":
        yield from _yaml_mutants(path, text)
        return
    tree = ast.parse(text)
    # That two lists are of one length is asserted besides; no vendor says it.
    lengths = {id(word.value) for word in ast.walk(tree) if isinstance(word, ast.keyword) and word.arg == "strict"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in lengths:
            for value in _numbers(node)[:1]:
                yield _replaced(path, text, node, repr(value))


def _yaml_mutants(path: Path, text: str) -> Iterator[Mutant]:
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        code = line.partition("#")[0]
        for found in _YAML_VALUE.finditer(code, code.find(":") + 1):
            word = found[0]
            if word in _OPPOSITE:
                changed = _OPPOSITE[word]
            else:
                changed = str(float(word) * 2 or 1.0) if "." in word else str(int(word, 0) + 1)
            new = line[: found.start()] + changed + line[found.end() :]
            source = "".join([*lines[:number], new, *lines[number + 1 :]])
            yield Mutant(path, number + 1, f"{code.strip()}: {word} -> {changed}"[:100], source)


_YAML_VALUE = re.compile(r"(?<![\w\"'.&-])(0x[0-9a-fA-F]+|\d+\.\d+|\d+|true|false)(?![\w\"'.])")
_OPPOSITE = {"true": "false", "false": "true"}

_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_OPERATIONS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult}
_CALLS = {"ceil": "floor", "floor": "ceil", "maximum": "minimum", "minimum": "maximum", "min": "max", "max": "min",
          "cumsum": "sort", "rint": "floor"}  # fmt: skip


def logic_mutants(path: Path) -> Iterator[Mutant]:
    """Yield mutants of the operators, comparisons and roundings inside the functions of a file."""
    text = path.read_text()
    for function in _outermost(ast.parse(text)):
        for node in ast.walk(function):
            new = _turned(node)
            if new is not None and isinstance(node, ast.expr):
                yield _replaced(path, text, node, f"({ast.unparse(new)})")


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        else:
            yield from _outermost(node)


def _turned(node: ast.AST) -> ast.expr | None:
    """Return the opposite of an expression, or ``None`` where there is none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        return ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS and not _is_type(node):
        return ast.BinOp(node.left, _OPERATIONS[type(node.op)](), node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        return ast.Call(ast.Attribute(node.func.value, _CALLS[node.func.attr], ast.Load()), node.args, node.keywords)
    if isinstance(node, ast.IfExp):
        return ast.IfExp(node.test, node.orelse, node.body)
    return None


def _is_type(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)


def _replaced(path: Path, text: str, node: ast.expr, new: str) -> Mutant:
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    raw = text.encode()
    old = raw[start:end].decode()
    source = (raw[:start] + new.encode() + raw[end:]).decode()
    return Mutant(path, node.lineno, f"{old} -> {new}"[:100], source, node.end_lineno)
