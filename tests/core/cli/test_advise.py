"""``drynpu advise`` and ``drynpu compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu import CommandError
from drynpu.cli.compare import _judge
from drynpu.cli.shared import read_share

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
    assert set(tables) == {
        *("runs", "changed", "careful"), *("steps", "kernels", "operators", "collectives", "memory"),
    }  # fmt: skip
    assert [Path(each["path"]) for each in tables["runs"]] == [run, run]
    assert (tables["changed"], tables["careful"]) == ({}, [])
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


@pytest.mark.parametrize(
    ("factor", "limit", "said"),
    [
        (1.2, 0.1, "a step is longer by 20.0%; --fail-over allows 10.0%"),
        (1.1, 0.1, ""),
        (0.5, 0.0, ""),
        (None, 0.1, "--fail-over needs the time of a step in both runs; one of them has none"),
    ],
)
def test_a_check_fails_where_a_step_is_longer_than_allowed(factor: float | None, limit: float, said: str) -> None:
    steps = pl.DataFrame({"name": ["step"], "factor": [factor]}, schema={"name": pl.String, "factor": pl.Float64})
    if not said:
        _judge(steps, limit)
        return
    with pytest.raises(CommandError) as caught:
        _judge(steps, limit)
    assert (str(caught.value), caught.value.exit_code) == (said, 1)


@pytest.mark.parametrize(("text", "share"), [("10%", 0.1), ("7.5", 0.075), ("0 %", 0.0)])
def test_shares(text: str, share: float) -> None:
    assert read_share(text) == pytest.approx(share)


def test_the_allowed_share_is_read(drynpu: Command, run: Path) -> None:
    assert drynpu("compare", run, run, "--fail-over", "10%").code == 0
    ended = drynpu("compare", run, run, "--fail-over", "much")
    assert ended.code == 2
    assert "'much' is no share; write it as 10%" in ended.err


def test_runs_that_cannot_be_compared_are_refused_unless_forced(
    drynpu: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drynpu.analysis._sides.refusals", lambda *_: iter(("one reason", "another")))
    ended = drynpu("compare", run, run)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "drynpu: these runs cannot be compared: one reason; another; --force compares them all the same\n"
    )
    forced = drynpu("compare", run, run, "--force").out
    assert "Kernels by type" in forced
    assert "these runs cannot be compared: one reason; another; the differences below mean nothing" in forced
