"""The site has every page in its navigation, and the pages that follow from the code have all of it."""

from __future__ import annotations

import importlib.util
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from drynpu.cli import build_cli
from drynpu.platforms import known_chips
from drynpu.plugins import build_manager

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("generated")
    load("generate_reference").write(folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.fixture(scope="module")
def entries() -> list[str]:
    """What the navigation leads to, as paths from the checkout without suffix."""
    navigation = load("conf").navigation
    trees = navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    trees += navigation((DOCS / "lists" / "index.md").read_text(encoding="utf-8"), "docs/lists")
    return re.findall(r"^.+ </(.+)>$", trees, re.MULTILINE)


def test_every_page_is_in_the_navigation_once(entries: list[str]) -> None:
    pages = [*DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    pages += [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "plugins/README.md")]
    names = {page.relative_to(ROOT).with_suffix("").as_posix() for page in pages if "generated" not in page.parts}
    assert sorted(entries) == sorted(names - {"docs/index"})


def test_the_build_reads_all_of_these(entries: list[str]) -> None:
    assert all((ROOT / f"{name}.md").is_file() for name in entries)
    assert set(load("conf").include_patterns) >= {"docs/**.md", "examples/**.md", "SECURITY.md"}


def test_links_that_name_files_show_titles() -> None:
    text = load("conf").titled("[start.md](start.md), [docs/faq.md](docs/faq.md#a-b_c): [the device](torch-device.md)")
    assert text == "*[](start.md)*, *[](docs/faq.md#a-b_c)*: [the device](torch-device.md)"


def test_headings_go_down_one_by_one() -> None:
    """Sphinx takes a step over a level for an error."""
    for page in (page for page in DOCS.rglob("*.md") if "generated" not in page.parts):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
        assert all(b <= a + 1 for a, b in pairwise(levels)), page


def test_every_command_has_its_help(generated: dict[str, str]) -> None:
    for verb in build_cli(build_manager()).commands:
        assert f"## drynpu {verb}\n" in generated["cli"]
    assert "--profile-steps" in generated["cli"]
    assert "-h, --help" in generated["cli"]
    assert "## drynpu native build\n" in generated["cli"]


def test_every_chip_has_its_row(generated: dict[str, str]) -> None:
    assert all(f"| `{chip.name}` | {chip.cube_cores} |" in generated["chips"] for chip in known_chips())


def test_public_names_have_a_sentence(generated: dict[str, str]) -> None:
    for name in ("open_run", "hookimpl", "load_chip", "KernelSpec"):
        (row,) = re.findall(rf"^\| `{name}` \| (.+) \|$", generated["api"], re.MULTILINE)
        assert len(row) > 10
