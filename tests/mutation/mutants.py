"""
Change one fact or one piece of logic at a time, run the tests that should notice, and print what survives.

    python tests/mutation/mutants.py facts [--sample N]     # vendor constants: facts.py of each record group, raw, YAML
    python tests/mutation/mutants.py logic [--sample N]     # operators, comparisons, numbers of the core's own logic

Each mutant runs in a forked child that compiles the changed source in place of the file, so that nothing on disk
changes and libraries are imported once. Tests run in steps from the nearest to the farthest; the first failure ends a
mutant. The exit status is 1 if a fact survives, or less than 90 % of the logic mutants are caught.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import evolve, frozen

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "drynpu"
TESTS = ROOT / "tests" / "core"
LIMIT_S = 240
"""A mutant that makes a test hang is caught, too: no test of these takes a quarter of this."""
NEEDED = 0.9
"""Share of the logic mutants that tests have to catch."""

FACT_TESTS = (
    *("test_facts.py", "test_ids.py", "test_record_forms.py"),
    *("test_counters.py", "test_platforms.py", "test_load.py"),
)
"""Tests that hold constants against the format pages, by file name."""
LOGIC_ROOMS = ("simulate", "device", "tables", "analysis", "kernels", "deliverables")


@frozen
class Mutant:
    """One change: *source* of the file at *path* with the change, *note* for people, *tests* by nearness."""

    path: Path
    line: int
    note: str
    source: str
    tests: tuple[Path, ...]

    @property
    def place(self) -> str:
        """Where the change is and what it is, for people."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.note}"


def fact_files() -> list[Path]:
    """Return the files that hold vendor constants."""
    yaml = (path for folder in ("platforms",) for path in (CORE / folder).glob("*.yaml"))
    return sorted(
        [*CORE.glob("deliverables/*/facts.py"), *CORE.glob("raw/_*ids.py"), *CORE.glob("raw/_record_forms.py"), *yaml]
    )


def tests_of(path: Path) -> tuple[Path, ...]:
    """
    Return the tests of a source file, the nearest first: the module's own, those of its group, those of its room.

    A fact has to be caught by a test of facts, which compares it with the format pages; no other test counts.
    """
    parts = path.relative_to(CORE).parts
    folders = [TESTS.joinpath(*parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
    if path in fact_files():
        return tuple(test for folder in folders for name in FACT_TESTS for test in sorted(folder.glob(name)))
    own = folders[0] / f"test_{path.stem.lstrip('_')}.py"
    return tuple(dict.fromkeys(place for place in (own, *folders) if place.exists()))


# ---------------------------------------------------------------------------------------------------- mutations


def _numbers(node: ast.Constant) -> list[object]:
    value = node.value
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value * 2] if value > 1 else [value + 1]
    if isinstance(value, float):
        return [value * 2]
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
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
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
                changed = str(float(word) * 2) if "." in word else str(int(word, 0) + 1)
            new = line[: found.start()] + changed + line[found.end() :]
            source = "".join([*lines[:number], new, *lines[number + 1 :]])
            yield Mutant(path, number + 1, f"{code.strip()}: {word} -> {changed}"[:100], source, tests_of(path))


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
    """Yield mutants of the operators, comparisons, calls and numbers inside the functions of a file."""
    text = path.read_text()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            new: ast.expr | None = None
            if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
                new = ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
            elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS and not _is_type(node):
                new = ast.BinOp(node.left, _OPERATIONS[type(node.op)](), node.right)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
                renamed = ast.Attribute(node.func.value, _CALLS[node.func.attr], ast.Load())
                new = ast.Call(renamed, node.args, node.keywords)
            elif isinstance(node, ast.IfExp):
                new = ast.IfExp(node.test, node.orelse, node.body)
            if new is not None and isinstance(node, ast.expr):
                yield _replaced(path, text, node, f"({ast.unparse(new)})")


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
    return Mutant(path, node.lineno, f"{old} -> {new}"[:100], source, tests_of(path))


# ------------------------------------------------------------------------------------------------------ running


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a changed source."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.source, str(self.mutant.path), "exec"), module.__dict__)


def run(mutant: Mutant) -> bool:
    """Return whether the tests catch a mutant; they run in a forked child."""
    child = os.fork()
    if child == 0:
        os.setsid()
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        os._exit(_judge(mutant))
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _judge(mutant: Mutant) -> int:
    import pytest

    if mutant.path.suffix == ".yaml":
        original = Path.read_text

        def read_text(path: Path, *arguments: Any, **keywords: Any) -> str:
            return mutant.source if path == mutant.path else original(path, *arguments, **keywords)

        Path.read_text = read_text  # type: ignore[method-assign]
    else:
        name = ".".join(mutant.path.relative_to(CORE.parent).with_suffix("").parts)
        if name in sys.modules:
            _forget("drynpu")
        sys.meta_path.insert(0, _Changed(name, mutant))
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    for place in mutant.tests:
        if pytest.main([*options, str(place)]) not in (0, 5):
            return 1
        _forget("tests", "conftest")
    return 0


def _forget(*prefixes: str) -> None:
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        del sys.modules[name]


def _warm() -> None:
    """Import what all children need; what a mutant changes is imported anew in its child."""
    for name in ("attrs", "cattrs", "numpy", "polars", "pytest", "yaml", "drynpu.platforms", "drynpu.raw"):
        importlib.import_module(name)


def _passes_unchanged(mutants: Sequence[Mutant]) -> bool:
    """Say which tests fail without any change; a mutant that they judge would always count as caught."""
    distinct = {mutant.tests: mutant for mutant in mutants}
    failing = [each for each in distinct.values() if run(evolve(each, source=each.path.read_text()))]
    for each in failing:
        print(f"tests fail without any change: {', '.join(str(test.relative_to(ROOT)) for test in each.tests)}")
    return not failing


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("facts", "logic"))
    parser.add_argument("--sample", type=int, help="run N mutants only, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the path of the files to change")
    options = parser.parse_args(argv)
    if options.kind == "facts":
        mutants = [mutant for path in fact_files() if options.only in str(path) for mutant in fact_mutants(path)]
    else:
        files = (
            path for room in LOGIC_ROOMS for path in sorted((CORE / room).rglob("*.py")) if path.name != "facts.py"
        )
        mutants = [mutant for path in files if options.only in str(path) for mutant in logic_mutants(path)]
    total = len(mutants)
    if options.sample is not None and options.sample < total:
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample), key=lambda each: each.place)
    _warm()
    if not _passes_unchanged(mutants):
        return 1
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        caught = run(mutant)
        if not caught:
            survivors.append(mutant)
            print(f"survived  {mutant.place}", flush=True)
        if number % 25 == 0:
            print(f"... {number} of {len(mutants)}, {len(survivors)} survived", flush=True)
    share = 1 - len(survivors) / max(len(mutants), 1)
    print(f"{options.kind}: {len(mutants)} of {total} mutants, {len(mutants) - len(survivors)} caught ({share:.0%})")
    return int(bool(survivors) if options.kind == "facts" else share < NEEDED)


if __name__ == "__main__":
    sys.exit(main())
