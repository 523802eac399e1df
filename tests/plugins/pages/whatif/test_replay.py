"""Runs simulated again from their files, beside programs whose dependencies are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.pages.critical.test_parts import BEGIN, Action, profile_of, programs, run

from drynpu.analysis import step_ranges
from drynpu.device import HostCosts
from drynpu.platforms import load_chip
from drynpu.views.runs import Run, View
from drynpu_pages.whatif import AS_RECORDED, Change, Recorded, simulate_again
from drynpu_pages.whatif._replay import replay

B2 = load_chip("910B2")
PLAIN = Action(waits=False, think=0)

steady = st.lists(
    st.builds(
        Action,
        waits=st.integers(0, 5).map(lambda number: number == 0),
        think=st.integers(0, 900_000),
        put=st.integers(1, 300_000),
        take=st.integers(4, 900_000),
        runs=st.integers(1, 4_000_000),
    ),
    min_size=1,
    max_size=14,
).filter(lambda program: not all(each.waits for each in program))
"""Programs on one stream whose kernels all begin as soon after what they wait for."""


def recorded_of(program: Sequence[Action], *, steps: bool = True) -> Recorded:
    result = Recorded.of_profile(profile_of(program, run(program), steps=steps), B2)
    assert result is not None
    return result


@settings(max_examples=60)
@given(program=programs)
def test_without_a_change_everything_is_when_it_was_recorded(program: list[Action]) -> None:
    result = recorded_of(program)
    work, host = result.recording.work, result.recording.host
    again = replay(result.recording, work.end - work.start)
    assert again.start.tolist() == work.start.tolist()
    assert again.end.tolist() == work.end.tolist()
    assert again.back.tolist() == host.waits[:, 1].tolist()
    assert again.host.queue.start.tolist() == host.queue.start.tolist()
    outcome = simulate_again(result, AS_RECORDED)
    assert outcome.steps["after_us"].to_list() == outcome.steps["before_us"].to_list()
    assert outcome.groups["after_us"].to_list() == outcome.groups["before_us"].to_list()


@settings(max_examples=80)
@given(program=steady, factors=st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=14, max_size=14))
def test_other_lengths_give_the_times_of_a_program_that_has_them(program: list[Action], factors: list[float]) -> None:
    """The program runs anew with those lengths: waits that were none begin, waits that were some end."""
    changed = [evolve(each, runs=max(1, int(each.runs * f))) for each, f in zip(program, factors, strict=False)]
    result = recorded_of(program)
    length = np.array([each.runs for each in changed if not each.waits], np.int64)
    again, really = replay(result.recording, length), run(changed)
    ends = [BEGIN + really.times[f"ended {number}"] for number, each in enumerate(changed) if not each.waits]
    # Where nothing in the recording tells how soon something follows it counts as at once: 7 ns here for each, and 2.
    # What a call takes that waited counts as what such a call usually takes.
    waits = sum(each.waits for each in program) * HostCosts().synchronize_ns
    assert np.abs(again.end - np.array(ends)).max() <= 9 * len(program) + waits


def test_a_host_without_gaps_leaves_the_device_alone() -> None:
    """Three kernels of 5 us behind each other take 15, however long the host thought."""
    program = [evolve(PLAIN, think=90_000, runs=5_000), *[evolve(PLAIN, think=40_000, runs=5_000)] * 2]
    result = recorded_of(program, steps=False)
    again = replay(result.recording, np.full(3, 5_000), no_host_gaps=True)
    assert int(again.end[-1] - again.start[0]) == pytest.approx(15_000, abs=30)
    assert simulate_again(result, Change(no_host_gaps=True)).groups["what"][0] == "kernels"


def test_a_host_without_gaps_waits_for_the_device_all_the_same() -> None:
    """The second kernel was launched after the first had ended, because the script waited for that."""
    program = [evolve(PLAIN, think=10, runs=5_000), Action(waits=True, think=700), evolve(PLAIN, think=900, runs=800)]
    result = recorded_of(program)
    again = replay(result.recording, np.array([5_000, 800]), no_host_gaps=True)
    assert again.back[0] >= again.end[0]
    assert again.start[1] >= again.back[0]


def test_genuine_runs_are_found_again(genuine: Run) -> None:
    """Also of a real device every event is when it was, and so are the steps."""
    for rank in genuine.ranks:
        result = Recorded.of_profile(rank.profile, B2)
        assert result is not None
        work = result.recording.work
        again = replay(result.recording, work.end - work.start)
        assert (again.start == work.start).all()
        assert (again.end == work.end).all()
        steps = simulate_again(result, AS_RECORDED).steps
        assert steps["after_us"].to_list() == steps["before_us"].to_list()


def test_steps_of_pytorch_are_found_again(view: View) -> None:
    result = Recorded.of_profile(view.rank.profile, load_chip("910B3"))
    assert result is not None
    steps = simulate_again(result, AS_RECORDED).steps
    ranges = step_ranges(view.rank.profile)
    assert steps["end_ns"].to_list() == ranges["device_end_ns"].to_list()
    assert steps["after_us"].to_list() == steps["before_us"].to_list()
    assert steps["step"].to_list() == ["0", "1"]
