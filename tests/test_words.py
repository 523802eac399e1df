"""
Plain English, as a ratchet: no more phrases and names that the glossary bans than ``words.yaml`` allows.

A number may only go down. Store the new count where you lowered one.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
STORED: dict[str, dict[str, int]] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

PHRASES = ("those of", "that of", "what of", "of which each", "bit for bit")
NAMES = ("asked", "found", "given", "made", "of", "own", "taken", "told", "wish")
AREAS = {
    "docs": ("docs", "changes", "README.md", "CONTRIBUTING.md", "SECURITY.md"),
    "code": ("core", "adapters", "plugins"),
    "tests": ("tests", "tools", "benchmarks", "examples"),
}
TEXTS = {".md", ".yaml"}
SOURCES = {".py", ".pyi"}
C_SOURCES = {".h", ".cpp"}
_PATTERN = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
_C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def files(area: str) -> Iterator[Path]:
    """Every file of an area, but generated pages, recorded results, and this test with its numbers."""
    apart = {Path(__file__), Path(__file__).with_name("words.yaml")}
    for name in AREAS[area]:
        place = ROOT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith((".", "__pycache__", "generated")) for part in parts)
            if path.suffix in TEXTS | SOURCES | C_SOURCES and path not in apart and not hidden:
                yield path


def said(path: Path) -> str:
    """The text of a page, or comments, docstrings and messages of a source, in one line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in C_SOURCES:
        text = " ".join(re.sub(r"\n\s*//", " ", comment) for comment in _C_COMMENT.findall(text))
    elif path.suffix in SOURCES:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        text = " ".join(token.string.lstrip("#") for token in tokens if token.type in kinds)
    return " ".join(text.replace("`", "").split())


def phrases(text: str) -> Counter[str]:
    return Counter(match.lower() for match in _PATTERN.findall(text))


def names(source: str) -> Counter[str]:
    """Banned names that a source assigns, takes as parameters or defines."""
    counts: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        name = ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            name = node.name
        if name.strip("_") in NAMES:
            counts[name.strip("_")] += 1
    return counts


def total(counts: Iterable[Counter[str]]) -> Counter[str]:
    result: Counter[str] = Counter()
    for each in counts:
        result += each
    return result


def grown(counted: Counter[str], area: str, words: Iterable[str]) -> dict[str, str]:
    """Words that an area has more often than ``words.yaml`` allows."""
    return {
        word: f"{counted[word]} times, {STORED[area][word]} allowed"
        for word in words
        if counted[word] > STORED[area][word]
    }


@pytest.mark.parametrize("area", AREAS)
def test_phrases_become_fewer(area: str) -> None:
    counted = total(phrases(said(path)) for path in files(area))
    assert grown(counted, area, PHRASES) == {}, "say it in other words (docs/glossary.md, How sentences are made)"


@pytest.mark.parametrize("area", ["code", "tests"])
def test_names_become_fewer(area: str) -> None:
    sources = [path for path in files(area) if path.suffix == ".py"]
    counted = total(names(path.read_text(encoding="utf-8")) for path in sources)
    assert grown(counted, area, NAMES) == {}, "name things by what they are (docs/glossary.md, How names are made)"


def test_the_glossary_bans_them() -> None:
    assert all(f'"{phrase}"' in GLOSSARY for phrase in PHRASES)
    assert all(f"`{name}`" in GLOSSARY for name in NAMES)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"""Times of the device and those\n    of the host."""', 1),
        ("x = 1  # That of the last", 1),
        ('raise ValueError("those of\\t the host")', 1),
        ("those_of = that.of", 0),
        ('"""Those that come, of which there are two."""', 0),
    ],
)
def test_a_phrase_is_seen_where_somebody_reads_it(text: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(text, encoding="utf-8")
    assert phrases(said(path)).total() == count


def test_a_name_is_seen_where_it_is_given() -> None:
    source = "def f(own, *, x):\n    found = own\n    for of in found: _told = 1\n    return found.given"
    assert names(source) == {"own": 1, "found": 1, "of": 1, "told": 1}
