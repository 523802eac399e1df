"""What a release says of itself agrees, and fragments of the changelog stand where they are looked for."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from drynpu import __version__

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def groups() -> tuple[set[str], set[str]]:
    """Folders and kinds of fragments."""
    settings = text("towncrier.toml")
    return set(re.findall(r'^path = "(.+)"', settings, re.M)), set(
        re.findall(r'^directory = "(\w+)"\nname', settings, re.M)
    )


def test_the_newest_release_is_this_one() -> None:
    assert re.findall(r"^## \[(.+?)\] - \d{4}-\d\d-\d\d$", text("CHANGELOG.md"), re.MULTILINE)[0] == __version__
    assert f"\nversion: {__version__}\n" in text("CITATION.cff")


def test_fragments_have_a_known_group_and_kind(groups: tuple[set[str], set[str]]) -> None:
    folders, kinds = groups
    assert kinds == {"added", "changed", "removed", "fixed"}
    for path in (ROOT / "changes").rglob("*"):
        if path.is_file() and path.name not in ("README.md", "template.md.jinja"):
            assert path.parent.name in folders, path
            assert re.fullmatch(rf"[\w-]+\.({'|'.join(kinds)})\.md", path.name), path


def test_groups_are_those_of_the_changelog(groups: tuple[set[str], set[str]]) -> None:
    names = set(re.findall(r'^name = "(.+)"', text("towncrier.toml"), re.MULTILINE))
    used = set(re.findall(r"^\*\*(.+)\*\*$", text("CHANGELOG.md"), re.MULTILINE))
    assert used - names <= {"Graphs of PyTorch", "Operators of PyTorch"}  # parts of one group, in a long release


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_the_settings_can_be_read() -> None:
    import tomllib

    settings: dict[str, Any] = tomllib.loads(text("towncrier.toml"))["tool"]["towncrier"]
    assert settings["start_string"] in text("CHANGELOG.md")
    assert (ROOT / settings["template"]).is_file()


def test_the_issue_forms_ask_for_the_doctor() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert {form.name for form in forms} == {"config.yml", "operator.yml", "wrong-result.yml"}
    assert "`drynpu doctor`" in (ROOT / ".github" / "ISSUE_TEMPLATE" / "wrong-result.yml").read_text(encoding="utf-8")
