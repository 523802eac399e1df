"""Annotations that say Any: there may only be fewer of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MOST = {
    "mindspore": 2756,
    "torch": 645,
    "tf": 379,
    "apex": 164,
    "acl": 53,
    "onnx_nodes": 11,
    "offline_inference": 57,
    "": 351,
}
"""
Word in the names of packages -> how often they say Any together; the last is for all other packages. Code moves from an
adapter to its plugins, so they count as one.
"""


def annotations_of_any(text: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(text)))


def word_of(package: str) -> str:
    return next(word for word in MOST if word in package)


def packages() -> Iterator[Path]:
    """Yield every package but the facades, whose signatures are the vendor's."""
    yield ROOT / "core" / "drynpu"
    for base in ("adapters", "plugins"):
        yield from sorted(path.parent for path in (ROOT / base).glob("*/*/__init__.py"))


@pytest.mark.parametrize("word", MOST)
def test_annotations_say_any_no_more_often(word: str) -> None:
    texts = [
        path.read_text() for package in packages() if word_of(package.name) == word for path in package.rglob("*.py")
    ]
    count = sum(map(annotations_of_any, texts))
    instead = "say object for a value that is only passed on or checked, and name a framework's objects in foreign.py"
    assert count <= MOST[word], f"{word or 'the core'}: {instead}"
    assert count > 0.95 * MOST[word], f"{word or 'the core'}: there are {count} left, so that is the new limit"


def test_annotations_of_any_are_counted() -> None:
    text = "from typing import Any\nx: dict[str, Any] = {}\ndef f(a: Any, *b: int) -> Any:\n    y: 'Any' = Any"
    assert annotations_of_any(text) == 4
