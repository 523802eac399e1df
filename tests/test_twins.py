"""No function and no constant stands in two files: the second copy is a question, the third belongs into the core."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
STATEMENTS = 3
"""Shorter functions say the same in the same words because there is one way to say it."""
NO_FACTS = ("TypeVar", "getLogger", "MappingProxyType", "torch.device", " for ", "1000")
"""Constants made by these are no vendor facts: types, loggers, tables made of a file's own names, units of time."""


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("core", "adapters", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "vendor" not in path.parts:
                yield path.relative_to(ROOT), ast.parse(path.read_text())


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and code of every function, docstrings left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = [
                line for line in node.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
            if len(body) >= STATEMENTS:
                yield node.name, ast.dump(ast.Module(body, [])) + ast.dump(node.args)


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and value of every constant that a stranger could mistype: texts, tuples, numbers of three digits."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id.lstrip("_"), ast.unparse(node.value)
            if name.isupper() and len(value) >= 3 and not any(word in value for word in NO_FACTS):
                yield name, value


def twins(parts) -> dict[str, list[str]]:
    places = defaultdict(list)
    for path, tree in sources():
        for key in set(parts(tree)):
            places[key].append(str(path))
    return {name: files for (name, _), files in places.items() if len(files) > 1}


def test_no_function_stands_in_two_files() -> None:
    assert twins(functions) == {}


def test_no_constant_stands_in_two_files() -> None:
    assert twins(constants) == {}
