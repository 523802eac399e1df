"""``drynpu whatif`` says what the page says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from drynpu.platforms import load_chip
from drynpu.views.content import ANSWER, EMPTY, WARNING, Note, Table, find_block
from drynpu.views.runs import Rank, Run, Selection, View
from drynpu_pages.pages import find_page
from drynpu_pages.pages.whatif import recorded_of
from drynpu_pages.whatif import AS_RECORDED, Change, memory_text, simulate_again

PAGE = find_page("whatif")


def shown(view: View, **choices: str) -> View:
    return View(view.run, view.rank, Selection(choices=choices))


def answer(view: View, kind: str = ANSWER) -> str:
    return next(block.text for block in PAGE.build(view) if isinstance(block, Note) and block.kind == kind)


def test_verb_and_page_agree(drynpu: Callable[..., Any], recorded: Path, view: View) -> None:
    chosen = shown(view, chip="Ascend910B4", matmul="1.5", link="2", host="none")
    ended = drynpu("whatif", recorded, "--chip", "910B4", "--matmul", 1.5, "--link", 2, "--no-host-gaps")
    assert ended.code == 0
    assert ended.out.startswith(answer(chosen))
    assert "Ascend910B4, products 1.5 times as fast, links 2 times as fast, no host gaps" in answer(chosen)
    document = json.loads(drynpu("whatif", recorded, "--no-host-gaps", "--json").out)
    steps: Table = find_block(PAGE.build(shown(view, host="none")), "whatif-steps", Table)
    assert [row["after_us"] for row in document["steps"]] == steps.frame["after_us"].to_list()
    assert document["after_us"] == pytest.approx(steps.frame["after_us"].mean())
    assert document["change"] == {"chip": None, "matmul": 1.0, "link": 1.0, "no_host_gaps": True}
    assert document["modelled"] is True


def test_without_a_choice_nothing_is_changed(view: View) -> None:
    assert answer(view).startswith("Nothing is changed yet")
    assert "Of single changes no host gaps saves most: then a step takes " in answer(view)
    steps: Table = find_block(PAGE.build(view), "whatif-steps", Table)
    assert steps.frame["after_us"].to_list() == steps.frame["before_us"].to_list()
    assert answer(shown(view, matmul="unheard of", chip="none")) == answer(view)


def test_changes_one_at_a_time_are_those_of_the_simulator(view: View) -> None:
    singles: Table = find_block(PAGE.build(view), "whatif-singles", Table)
    times = dict(singles.frame.select("change", "after_us").iter_rows())
    result = recorded_of(view.rank)
    assert result is not None
    assert times["no host gaps"] == simulate_again(result, Change(no_host_gaps=True)).mean_us
    assert times["Ascend910B4"] == simulate_again(result, Change(chip=load_chip("910B4"))).mean_us
    assert "links 2 times as fast" not in times, "the run has no collective"
    was = simulate_again(result, AS_RECORDED).mean_us
    assert (singles.frame["after_us"] + singles.frame["saved_us"]).to_list() == pytest.approx([was] * len(times))


def test_what_does_not_fit_is_said(view: View) -> None:
    chip = load_chip("910B4")
    assert (
        memory_text(chip.memory_bytes + 1, chip)
        == "It does not fit there: 32.00 GiB were allocated, Ascend910B4 has 32.00 GiB."
    )
    assert memory_text(chip.memory_bytes, chip) == memory_text(None, chip) == memory_text(2**60, None) == ""
    vars(view.rank)["summary"] = evolve(view.rank.summary, peak_allocated_bytes=2**40)
    assert "does not fit" in answer(shown(view, chip="Ascend910B4"), WARNING)


def test_a_run_of_an_unknown_chip_asks_for_it(drynpu: Callable[..., Any], genuine: Run) -> None:
    view = View(genuine, genuine.rank())
    assert "Name the chip" in answer(view, EMPTY)
    ended = drynpu("whatif", view.rank.path, "--link", 2)
    assert (ended.code, ended.out) == (2, "")
    assert "--recorded-chip" in ended.err
    document = json.loads(drynpu("whatif", view.rank.path, "--link", 2, "--recorded-chip", "910B2", "--json").out)
    assert document["recorded_chip"] == "Ascend910B2"
    assert ("the measured times" in document["basis"]) == ("knows 0.0 %" not in document["basis"])


def test_a_run_of_a_named_chip_is_simulated(genuine: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYNPU_CHIP", "910B2")
    rank = Rank(genuine.rank().path, None)
    foretold = answer(shown(View(genuine, rank), link="2"))
    assert foretold.startswith(
        ("With links 2 times as fast, a step takes", "With links 2 times as fast, the recording takes")
    )
    calls = rank.profile.table("api").height
    assert any(
        "No calls" in block.text for block in PAGE.build(View(genuine, rank)) if isinstance(block, Note)
    ) != bool(calls)
