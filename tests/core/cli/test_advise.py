"""``drynpu advise`` and ``drynpu compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def run(profile: Callable[[Path], Path], tmp_path: Path) -> Path:
    return profile(tmp_path / "host_77_20250109074803000_ascend_pt")


def test_hints_are_printed_with_what_they_cost(drynpu: Command, run: Path) -> None:
    ended = drynpu("advise", run)
    assert (ended.code, ended.err) == (0, "")
    assert "The device waits for the host" in ended.out
    assert "s a step)" in ended.out
    found = json.loads(drynpu("advise", run, "--json").out)
    assert {"name", "title", "evidence", "remedy", "cost_us", "per", "page"} == set(found[0])


def test_two_runs_are_compared(drynpu: Command, run: Path) -> None:
    ended = drynpu("compare", run, run)
    assert (ended.code, ended.err) == (0, "")
    assert "Kernels by type" in ended.out
    assert all(len(line) <= 100 for line in ended.out.splitlines())
    tables = json.loads(drynpu("compare", run, run, "--json").out)
    assert set(tables) == {"steps", "kernels", "operators", "collectives", "memory"}
    assert {row["name"] for row in tables["kernels"]} == {"Add", "Thing"}


def test_a_folder_without_a_run_is_told(drynpu: Command, tmp_path: Path) -> None:
    ended = drynpu("advise", tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"drynpu: expected one run at {tmp_path} and found none\n"


def test_of_several_runs_the_newest_is_meant_and_named(
    drynpu: Command, profile: Callable[[Path], Path], run: Path, tmp_path: Path
) -> None:
    """As after `make demo` twice: results of one script lie beside each other."""
    newest = profile(tmp_path / "host_78_20250109084803000_ascend_pt")
    notice = f"2 runs in {tmp_path}: this is the newest, {newest.name}; the one before it is {run}\n"
    ended = drynpu("advise", tmp_path)
    assert (ended.code, ended.err) == (0, notice)
    assert drynpu("compare", run, tmp_path).err == notice
    written = drynpu("export", tmp_path, "--to", "chrome", "-o", tmp_path / "out")
    assert (written.code, written.err) == (0, notice)
