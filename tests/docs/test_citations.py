"""Every page that code, tests and documents cite is in the repository, and so is the section that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORMATS = ROOT / "docs" / "formats"
PAGES = {page.name: page for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]}
READERS = sorted(
    path
    for room in ("core", "adapters", "plugins", "tests", "examples", "benchmarks", "docs")
    for path in (ROOT / room).rglob("*")
    if path.suffix in {".py", ".yaml", ".md"} and path != Path(__file__)
)

_NUMBER = r"\d+(?:\.\d+)*"
_SECTIONS = rf"{_NUMBER}(?:(?:, | and | to |-){_NUMBER}\b)*"
# A name in a path (of the vendor's documentation) or alone in quotes (a file that a test writes) is no citation.
_NAMED = re.compile(r"(?<![\w./\"'<-])([A-Za-z][\w-]*\.md)\b")
_OWN_PATH = re.compile(r"(?<![\w./-])docs/((?!en/|zh/)[\w./-]*\.md)\b")
_CITED = re.compile(rf"(?<![\w.-])([A-Za-z][\w-]*\.md)(?:\]\([^)]*\))?(?:,? sections?)? ({_SECTIONS})")
_INSIDE = re.compile(rf"(?<!\), )\bsections? ({_SECTIONS})")


def flat(path: Path) -> str:
    """The text in one line, so that a citation may be wrapped."""
    return re.sub(r"\s*\n\s*(?:#+:? )?", " ", path.read_text(encoding="utf-8"))


def headings(page: Path) -> set[str]:
    return set(re.findall(rf"^#+ ({_NUMBER})\.? ", page.read_text(encoding="utf-8"), re.MULTILINE))


def numbers(text: str) -> Iterator[str]:
    """Every section that a list names; of ``7.2 to 7.4`` the one between as well."""
    yield from re.findall(_NUMBER, text)
    for first, last in re.findall(rf"({_NUMBER})(?: to |-)({_NUMBER})", text):
        stem, _, begin = first.rpartition(".")
        assert last.rpartition(".")[0] == stem, f"{first} to {last} are not neighbours"
        yield from (f"{stem}.{index}".lstrip(".") for index in range(int(begin), int(last.rpartition(".")[2])))


def wrong_citations(text: str) -> list[str]:
    """What *text* cites and nobody can open."""
    wrong = [f"{name}: no such page" for name in _NAMED.findall(text) if name not in PAGES]
    wrong += [f"docs/{path}: no such page" for path in _OWN_PATH.findall(text) if not (ROOT / "docs" / path).exists()]
    for name, sections in _CITED.findall(text):
        page = PAGES.get(name)
        if page is None:
            wrong.append(f"{name}: no such page")
        else:
            wrong += [f"{name} {each}: no such section" for each in numbers(sections) if each not in headings(page)]
    return wrong


def test_citations_can_be_opened() -> None:
    wrong = {str(path.relative_to(ROOT)): wrong_citations(flat(path)) for path in READERS}
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize("page", sorted(FORMATS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_formats_refers_to_its_own_sections(page: Path) -> None:
    named = {each for sections in _INSIDE.findall(flat(page)) for each in numbers(sections)}
    assert named - headings(page) == set()


@pytest.mark.parametrize("page", sorted(FORMATS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_formats_says_how_sure_its_facts_are(page: Path) -> None:
    assert "how sure a" in page.read_text(encoding="utf-8").split("\n## ")[0].lower()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("see cann_msprof.md 7.2 to 7.4 and 1.9", []),
        ("a layout (cann_msprof.md 7.2, 7.33)", ["cann_msprof.md 7.33: no such section"]),
        ("cann_msprof.md 7.5 to 7.9", [f"cann_msprof.md 7.{n}: no such section" for n in (9, 7, 8)]),
        ("cann_msprof.md [4]. Then 99.5", []),
        ("as capture_notes.md says", ["capture_notes.md: no such page"]),
        ("Ascend/msprof docs/en/user_guide/some_page.md 3", ["some_page.md: no such page"]),
        ("Ascend/msprof docs/en/user_guide/some_page.md, and docs/options.md", []),
        ("docs/no-such-page.md", ["docs/no-such-page.md: no such page"]),
    ],
)
def test_a_wrong_citation_is_found(text: str, wrong: list[str]) -> None:
    assert wrong_citations(text) == wrong
