"""Long runs are simulated again in part, and that part as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.core.analysis.conftest import host_op, make_profile
from tests.plugins.pages.critical.test_parts import BEGIN, Action, profile_of, run

from drynpu.platforms import load_chip
from drynpu.tables import Profile
from drynpu.views.content import Note
from drynpu.views.runs import Selection, View
from drynpu_pages.pages import find_page
from drynpu_pages.whatif import AS_RECORDED, Change, Recorded, cut_text, simulate_again
from drynpu_pages.whatif import _cut as cutting
from drynpu_pages.whatif._replay import replay

B2 = load_chip("910B2")
KERNELS = 9
"""Of each of three steps."""


def long_run(think_ns: int = 2_000, runs_ns: int = 7_000) -> Profile:
    """Three steps of nine kernels, the host far ahead of the device."""
    plain = Action(waits=False, think=think_ns, put=30, take=90, runs=runs_ns)
    program = [evolve(plain, think=think_ns + 100 * (number % 4)) for number in range(3 * KERNELS)]
    ran = run(program)
    at = [BEGIN + ran.times[f"in {number * KERNELS - 1}"] + 1 if number else BEGIN for number in range(4)]
    whole = profile_of(program, ran, steps=False)
    steps = [host_op(f"ProfilerStep#{3 + number}", at[number], at[number + 1] - 1) for number in range(3)]
    return with_host_ops(whole, steps)


def with_host_ops(profile: Profile, steps: list[dict[str, object]]) -> Profile:
    tables = {name: getattr(profile, name).to_dicts() for name in ("queue", "api", "tasks", "kernels", "host_ops")}
    operators = [{key: value for key, value in row.items() if key != "op_id"} for row in tables.pop("host_ops")]
    return make_profile(host_ops=[*steps, *operators], **tables)


@pytest.fixture
def few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MOST_ENTRIES", 2 * KERNELS)


def recorded_of(profile: Profile, step: str = "") -> Recorded:
    result = Recorded.of_profile(profile, B2, step)
    assert result is not None
    return result


@pytest.mark.usefixtures("few_entries")
@pytest.mark.parametrize(("step", "steps"), [("", ["4", "5"]), ("3", ["3"]), ("5", ["5"])])
def test_a_part_is_as_it_was(step: str, steps: list[str]) -> None:
    profile = long_run()
    whole = {row["step"]: row for row in all_steps(profile)}
    part = recorded_of(profile, step)
    assert len(part.recording.work.start) == len(steps) * KERNELS
    again = replay(part.recording, part.recording.work.end - part.recording.work.start)
    assert again.end.tolist() == part.recording.work.end.tolist()
    outcome = simulate_again(part, AS_RECORDED)
    assert outcome.steps["step"].to_list() == steps
    for row in outcome.steps.to_dicts():
        assert (row["before_us"], row["after_us"]) == (whole[row["step"]]["before_us"],) * 2


def all_steps(profile: Profile) -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "MOST_ENTRIES", 10**6)
        every = recorded_of(profile)
    assert every.cut.all_steps
    return simulate_again(every, AS_RECORDED).steps.to_dicts()


def test_a_part_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cut_text(recorded_of(long_run())) == ""
    assert cut_text(recorded_of(long_run(), "4")) == "Simulated again: step 4 alone, of 3 steps."
    monkeypatch.setattr(cutting, "MOST_ENTRIES", 2 * KERNELS)
    assert cut_text(recorded_of(long_run())) == "Simulated again: the last 2 of 3 steps."
    monkeypatch.setattr(cutting, "MOST_ENTRIES", KERNELS - 2)
    assert "alone: it is a long run" in cut_text(recorded_of(long_run()))


@pytest.mark.usefixtures("few_entries")
def test_a_device_that_is_behind_gains_nothing_from_the_host() -> None:
    """Nine kernels of 7 us each in a step, launched every 2 us: the part begins behind the step before it."""
    part = recorded_of(long_run())
    outcome = simulate_again(part, Change(no_host_gaps=True))
    assert outcome.mean_us == pytest.approx(outcome.was_us, rel=0.02)


@pytest.mark.usefixtures("few_entries")
def test_a_host_that_is_behind_is_in_the_part_as_well() -> None:
    part = recorded_of(long_run(think_ns=20_000))
    outcome = simulate_again(part, Change(no_host_gaps=True))
    assert outcome.mean_us == pytest.approx(KERNELS * 7.0, rel=0.15)


def test_a_step_is_chosen_by_page_and_verb(drynpu: Callable[..., Any], recorded: Path, view: View) -> None:
    chosen = View(view.run, view.rank, Selection("1"))
    notes = [block.text for block in find_page("whatif").build(chosen) if isinstance(block, Note)]
    assert "Simulated again: step 1 alone, of 2 steps." in notes
    assert "Simulated again: step 1 alone, of 2 steps." in drynpu("whatif", recorded, "--step", 1, "--matmul", 2).out
    ended = drynpu("whatif", recorded, "--step", 9)
    assert (ended.code, "it has 0, 1" in ended.err) == (2, True)
