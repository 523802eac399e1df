"""No function and no constant stands in two files: the second copy is a question, the third belongs into the core."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
STATEMENTS = 3
"""Shorter functions say the same in the same words because there is one way to say it."""
NO_FACTS = ("TypeVar", "getLogger", "torch.device", " for ", "1000")
"""Constants made by these are no vendor facts: types, loggers, tables made of a file's own names, units of time."""
LEAST_TEXT, LEAST_DIGITS = 8, 4
"""Shorter texts, and numbers of fewer digits that count, are equal by chance."""
WRAPPERS = {"MappingProxyType", "frozenset", "tuple", "set", "list"}
BY_CHANCE = {
    "'127.0.0.1'": "every computer's own address",
    "'mindspore'": "the package that is imported, and the framework in records",
    "'profiler'": "a section of acl.json, a folder of MindInsight, the stage of a check",
    "(torch.float32, torch.float16, torch.bfloat16)": "the floating types that kernels of a device take",
    "ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)": "any function of C with two pointers",
}
"""Values that are equal by chance -> what they are."""


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("core", "adapters", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "vendor" not in path.parts:
                yield path.relative_to(ROOT), ast.parse(path.read_text())


def functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and code of every function, docstrings left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = [
                line for line in node.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
            if len(body) >= STATEMENTS:
                yield node.name, ast.dump(ast.Module(body, [])) + ast.dump(node.args)


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield name and value of every constant of a module, also of several that one line assigns."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield from paired(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from paired(node.target, node.value)


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from paired(one, part)
    elif isinstance(target, ast.Name) and target.id.isupper():
        yield target.id.lstrip("_"), value


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and value of every constant that a stranger could mistype: texts, tuples, numbers of three digits."""
    for name, node in assigned(tree):
        value = ast.unparse(unwrapped(node))
        if len(value) >= 3 and not value.endswith("()") and not any(word in value for word in NO_FACTS):
            yield name, value


def facts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the value of every constant that says too much to be equal by chance, whatever its name is."""
    for _, node in assigned(tree):
        inner = unwrapped(node)
        value = ast.unparse(inner)
        if isinstance(inner, (ast.Tuple, ast.List, ast.Set)):
            value = f"({', '.join(map(ast.unparse, inner.elts))})"
        if says_much(inner) and not any(word in value for word in NO_FACTS):
            yield value, value


def unwrapped(node: ast.expr) -> ast.expr:
    """Return the collection within calls that only make it another kind of collection."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) in WRAPPERS and len(node.args) == 1:
        (node,) = node.args
    return node


def says_much(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return len(node.value) >= LEAST_TEXT
        return isinstance(node.value, (int, float)) and counts_digits(node.value)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return len([part for part in node.elts if not isinstance(getattr(part, "value", ""), (int, float))]) > 1
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    return isinstance(node, ast.Call) and bool(node.args)


def counts_digits(number: float) -> bool:
    """Say whether a number has four digits that count and is neither a power of two nor next to one."""
    digits = re.sub(r"e.*|\D", "", f"{abs(number):.15g}").strip("0")
    near = any(abs(number) + step > 0 and math.log2(abs(number) + step).is_integer() for step in (-1, 0, 1))
    return len(digits) >= LEAST_DIGITS and not near


def twins(parts: Callable[[ast.Module], Iterator[tuple[str, str]]]) -> dict[str, list[str]]:
    places = defaultdict(list)
    for path, tree in sources():
        for key in set(parts(tree)):
            places[key].append(str(path))
    return {name: files for (name, _), files in places.items() if len(files) > 1}


def test_no_function_stands_in_two_files() -> None:
    assert twins(functions) == {}


def test_no_constant_stands_in_two_files() -> None:
    assert twins(constants) == {}


def test_no_value_has_two_names() -> None:
    assert {value: files for value, files in twins(facts).items() if value not in BY_CHANCE} == {}


def test_what_is_equal_by_chance_is_there() -> None:
    assert set(BY_CHANCE) <= set(twins(facts))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (
            '_A = ("host to device", "device to host")',
            'B: Final = frozenset({"host to device", "device to host"})',
            True,
        ),
        ('NAME, _SIZE = "metadata.json", 4', '_FILE = "metadata.json"', True),
        ('_STEPS = pl.Schema({"rank": pl.String})', 'ROWS = pl.Schema({"rank": pl.String})', True),
        ("_CUBE = 0.044715", "FACTOR: float = 0.044715", True),
        ("_LONGEST = 4096", "_MOST = 4096", False),
        ("_AXES = (2, 3)", "_SIDES = (2, 3)", False),
        ('_MODE = "none"', '_KIND = "none"', False),
    ],
)
def test_values_with_two_names_are_found(one: str, other: str, *, equal: bool) -> None:
    assert bool(set(facts(ast.parse(one))) & set(facts(ast.parse(other)))) is equal
