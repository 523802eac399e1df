"""
A stranger's five tasks, followed literally.

The files on the page of a task are written, and its commands are run, in an empty folder with the environment's
commands on the path. What the page shows of their output has to be in it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "howto"
GENUINE = Path(os.environ.get("GENUINE_PROFILES", ROOT.parent / "shared" / "data")) / "genuine"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sysconfig.get_path("scripts"))


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The kinds and contents of a page's blocks, in their order."""
    yield from BLOCK.findall(page.read_text(encoding="utf-8"))


def run(commands: str, folder: Path, variables: dict[str, str]) -> str:
    """Run commands as somebody would who has typed them, and return what they print."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU", "PYTHON", "ASCEND"))}
    quiet = {"RANK": "0", "KINETO_LOG_LEVEL": "99", "PATH": f"{BIN}{os.pathsep}{clean['PATH']}", "COLUMNS": "80"}
    command = ["bash", "-euo", "pipefail", "-c", commands]
    environment = {**clean, **quiet, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def follow(page: Path, folder: Path, **variables: str) -> list[str]:
    """Write a page's files, run its commands, find in their output what it shows; return the outputs."""
    outputs = [""]
    for kind, content in blocks(page):
        if kind in ("python", "toml"):
            name = content.split("\n", 1)[0].removeprefix("# ")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        elif kind == "sh":
            outputs.append(run(content, folder, variables))
        else:
            assert kind == "text", kind
            said = " ".join(outputs[-1].split())
            assert [line for line in content.splitlines() if " ".join(line.split()) not in said] == [], outputs[-1]
    return outputs[1:]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with the examples in which the second page was followed, and what its commands said."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder, follow(PAGES / "bound.md", folder)


@pytest.fixture
def demo(followed: tuple[Path, list[str]]) -> Path:
    return followed[0]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_shows_commands_and_what_they_say(page: Path) -> None:
    assert {"sh", "text"} <= {kind for kind, _ in blocks(page)}


def test_profile_a_script(tmp_path: Path) -> None:
    follow(PAGES / "profile.md", tmp_path)
    assert list(tmp_path.glob("profile_out/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")[:200]


def test_find_what_bounds_it(demo: Path) -> None:
    assert (demo / "report.html").is_file()
    assert (demo / "summary.json").read_text(encoding="utf-8").startswith(("[", "{"))


def test_compare_two_chips(tmp_path: Path) -> None:
    follow(PAGES / "chips.md", tmp_path)
    assert list(tmp_path.glob("b2/*_ascend_pt"))
    assert list(tmp_path.glob("b4/*_ascend_pt"))


def test_both_pages_have_the_same_script() -> None:
    first, second = (dict(blocks(PAGES / f"{name}.md"))["python"] for name in ("profile", "chips"))
    assert first == second


@pytest.fixture
def colleague(demo: Path, tmp_path: Path) -> Path:
    """A folder with results that come from a device; where there are none here, a run without its raw data."""
    genuine = sorted(GENUINE.glob("torch_text_level1/*_ascend_pt"))
    (source,) = genuine[:1] or demo.glob("demo_out/*_ascend_pt")
    given = tmp_path / "colleague_ascend_pt"
    raw = shutil.ignore_patterns("PROF_*", "FRAMEWORK")
    shutil.copytree(source, given, ignore=raw)
    return tmp_path


def test_open_a_colleagues_profile(colleague: Path) -> None:
    files = {path: path.read_bytes() for path in (colleague / "colleague_ascend_pt").rglob("*") if path.is_file()}
    follow(PAGES / "genuine.md", colleague)
    assert all(path.read_bytes() == content for path, content in files.items())
    assert list((colleague / "tables").rglob("*kernels.parquet"))


def test_write_a_file_of_ones_own(demo: Path) -> None:
    """In an environment of its own, which sees the packages of this one: the page installs something."""
    environment = demo / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = next(environment.glob("lib/python*/site-packages"))
    shared = sysconfig.get_path("purelib")
    (site / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n")
    (environment / "bin" / "drynpu").write_text(f'#!/bin/sh\nexec "{environment}/bin/python" -m drynpu "$@"\n')
    (environment / "bin" / "drynpu").chmod(0o755)
    follow(PAGES / "deliverable.md", demo, PATH=f"{environment}/bin{os.pathsep}{os.environ['PATH']}")
    assert (demo / "out" / "busiest_0.csv").is_file()
    assert not list(Path(shared).glob("*busiest*"))


def test_readme_shows_what_the_demo_says(followed: tuple[Path, list[str]]) -> None:
    specification = importlib.util.spec_from_file_location("demo_excerpt", ROOT / "tools" / "demo_excerpt.py")
    assert specification is not None
    assert specification.loader is not None
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    shown = tool.page_excerpt((ROOT / "README.md").read_text(encoding="utf-8"))
    assert tool.differences(shown, tool.excerpt(followed[1][0])) == []
