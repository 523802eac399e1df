"""Each trick of the page is cited in the code and shown by tests, and each citation leads to a note."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tricks.md").read_text(encoding="utf-8")
NOTES = {
    int(number): text for number, text in re.findall(r"^### N(\d+) (.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
FIELDS = ("Relies on", "Checked", "Otherwise", "Shown by")
SOURCES = {".py", ".pyi", ".h", ".cpp", ".js"}
_CITED = re.compile(r"\bN(\d+), docs/tricks\.md")


def read(folder: str) -> dict[Path, str]:
    paths = (ROOT / folder).rglob("*")
    return {path: path.read_text(encoding="utf-8") for path in sorted(paths) if path.suffix in SOURCES}


@pytest.fixture(scope="module")
def cited() -> dict[int, list[str]]:
    """The files that cite each number."""
    files: dict[int, list[str]] = {}
    for folder in ("core", "adapters", "plugins"):
        for path, text in read(folder).items():
            for number in _CITED.findall(text):
                files.setdefault(int(number), []).append(str(path.relative_to(ROOT)))
    return files


def test_numbers_follow_each_other() -> None:
    assert list(NOTES) == list(range(1, len(NOTES) + 1))


def test_every_note_is_cited_and_every_citation_has_its_note(cited: dict[int, list[str]]) -> None:
    assert set(NOTES) - set(cited) == set()
    assert {number: files for number, files in cited.items() if number not in NOTES} == {}


@pytest.mark.parametrize("number", NOTES)
def test_a_note_has_its_four_fields(number: int) -> None:
    assert tuple(re.findall(r"^- \*\*([^*]+):\*\* \S", NOTES[number], re.MULTILINE)) == FIELDS


def test_the_tests_of_the_notes_exist() -> None:
    defined = {
        name for text in read("tests").values() for name in re.findall(r"^ *def (test_\w+)\(", text, re.MULTILINE)
    }
    shown = {number: re.findall(r"`(test_\w+)`", text.partition("**Shown by:**")[2]) for number, text in NOTES.items()}
    assert [number for number, names in shown.items() if not names] == []
    assert set(re.findall(r"`(test_\w+)`", PAGE)) - defined == set()
