"""What a name may not be: words that say how a value came here. And what a name means stands behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("core/drynpu", "adapters", "plugins")

NO_NAMES = {"own", "told", "made", "asked", "taken", "of", "wish", "manners", "voice", "target"}
"""Words that say how a value came here, not what it is (docs/glossary.md, "How names are made")."""
NAMED_BY_OTHERS = {
    "plugins/mindspore_kernels/drynpu_mindspore_kernels/compositions/_functions.py": "target",  # ops
    "adapters/mindspore_like/drynpu_mindspore/patching/_import.py": "target",  # importlib: MetaPathFinder.find_spec
    "plugins/mindspore_like/drynpu_mindspore_like/_serve.py": "target",  # importlib: MetaPathFinder.find_spec
    "plugins/tf1_contrib/drynpu_tf1_contrib/_finder.py": "target",  # the same
    "adapters/tf/drynpu_tf/face/_moved.py": "target",  # the same
    "adapters/tf/drynpu_tf/face/_serve.py": "target",  # the same
    "adapters/tf/drynpu_tf/bridge/init.py": "target",  # tf.compat.v1.Session
    "adapters/tf/drynpu_tf/sessions/_install.py": "target",  # the same
    "plugins/torch_operators/drynpu_torch_operators/contrib/activations.py": "target",  # LabelSmoothingCrossEntropy
    "adapters/torch/drynpu_torch/profiler/_flops.py": "target",  # torch_npu.profiler: register_npu_flop
}
"""Parameters whose name a library calls them by."""


def names_given(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a module gives to a variable, a parameter, a function or a class, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def bad_names(tree: ast.AST) -> list[tuple[str, int]]:
    return [(name, line) for name, line in names_given(tree) if name.strip("_").lower() in NO_NAMES]


def test_names_say_what_a_value_is() -> None:
    wrong = [
        f"{name}:{line}: {word}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        # A facade's names are the vendor's.
        if "vendor" not in path.parts
        for word, line in bad_names(ast.parse(path.read_text()))
        if NAMED_BY_OTHERS.get(name := str(path.relative_to(ROOT))) != word
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("told = 1", 1),
        ("for of in kinds: pass", 1),
        ("[own for own in rows]", 1),
        ("def export(target, *, asked=None): ...", 2),
        ("lambda taken: taken.rows", 1),
        ("class _Asked: ...", 1),
        ("if (made := read()): ...", 1),
        ("rows = plan.of(kinds); target_path = rows.own", 0),
    ],
)
def test_names_that_say_nothing_are_found(code: str, found: int) -> None:
    assert len(bad_names(ast.parse(code))) == found


def texts_without_a_name(tree: ast.Module) -> list[int]:
    """Return the lines of texts that stand alone, but for a docstring and what explains the constant before it."""
    return [
        node.lineno
        for before, node in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and not isinstance(before, (ast.Assign, ast.AnnAssign))
    ]


def test_every_text_explains_a_name() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in texts_without_a_name(ast.parse(path.read_text()))
    ]
    assert not wrong, "\n".join(wrong)


def test_texts_without_a_name_are_found() -> None:
    code = '"""Doc."""\nA = 1\n"""Of A."""\n"""Of nothing."""\nimport b\n"""Nor this."""\nC = 2\n"""Of C."""\n'
    assert texts_without_a_name(ast.parse(code)) == [4, 6]
