"""The critical path of programs whose dependencies are known, beside a plain longest path through these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import polars as pl
import pytest
from attrs import evolve, field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.analysis.conftest import host_op, make_profile

from drynpu.tables import NO_CONTEXT, NO_MODEL, Profile
from drynpu_pages.critical import GROUPS, bounds, critical_path

BEGIN = 1_700_000_000_000_000_000
MAIN, LAUNCHER = 1, 2
TYPES = ("MatMulV2", "Add", "Cast")


@frozen
class Action:
    """What a program does next: it launches a kernel, or waits for the device; times in ns."""

    waits: bool
    think: int
    put: int = 3
    take: int = 5
    latency: int = 7
    stream: int = 0
    kind: str = TYPES[0]
    runs: int = 1


actions = st.builds(
    Action,
    waits=st.integers(0, 5).map(lambda number: number == 0),
    think=st.integers(0, 900),
    put=st.integers(1, 300),
    take=st.integers(4, 900),
    latency=st.integers(0, 300),
    stream=st.integers(0, 2),
    kind=st.sampled_from(TYPES),
    runs=st.integers(1, 4000),
)


@frozen
class Ran:
    """A program as it ran: each event with its time, and what had to come before by how much."""

    times: dict[str, int] = field(factory=dict)
    edges: dict[str, list[tuple[str, int]]] = field(factory=dict)

    def at(self, event: str, *causes: tuple[str, int]) -> str:
        self.edges[event] = list(causes)
        self.times[event] = max(self.times[cause] + length for cause, length in causes)
        return event


def run(program: Sequence[Action]) -> Ran:
    """Run a program as soon as everything may happen."""
    ran = Ran({"begin": 0}, {"begin": []})
    host, launcher, kernels = "begin", "begin", []
    streams: dict[int, str] = {}
    for number, action in enumerate(program):
        if action.waits:
            called = ran.at(f"call {number}", (host, action.think))
            host = ran.at(f"back {number}", (called, 2), *((kernel, 2) for kernel in kernels))
            continue
        put = ran.at(f"put {number}", (host, action.think))
        host = ran.at(f"in {number}", (put, action.put))
        opened = ran.at(f"taken {number}", (host, 1), (launcher, 1))
        launcher = ran.at(f"launched {number}", (opened, action.take))
        ahead = [(streams[action.stream], action.latency)] if action.stream in streams else []
        began = ran.at(f"began {number}", (launcher, action.latency), *ahead)
        streams[action.stream] = ran.at(f"ended {number}", (began, action.runs))
        kernels.append(f"ended {number}")
    # A step ends with its host, or with the kernel that it launched last (torch_npu_profiler.md 5.2).
    ran.at("host end", (host, 1))
    ran.at("end", ("host end", 0), (kernels[-1], 0))
    return ran


def profile_of(program: Sequence[Action], ran: Ran, *, steps: bool) -> Profile:
    """Return the profile that such a program would leave."""
    at = {event: BEGIN + time for event, time in ran.times.items()}
    ops = [host_op("ProfilerStep#4", BEGIN, at["host end"])] if steps else []
    rows: dict[str, list[Mapping[str, object]]] = {name: [] for name in ("queue", "api", "tasks", "kernels")}
    for number, action in enumerate(program):
        if action.waits:
            call = {"level": "acl", "name": "aclrtSynchronizeStream", "tid": MAIN}
            rows["api"].append({**call, "start_ns": at[f"call {number}"], "end_ns": at[f"back {number}"]})
            continue
        ops.append(host_op("aten::op", at[f"put {number}"], at[f"in {number}"], MAIN))
        rows["queue"] += _queue(number, at)
        opened, launched = at[f"taken {number}"], at[f"launched {number}"]
        for level, start, end in (("node", opened + 1, launched), ("runtime", opened + 2, launched)):
            rows["api"].append({"level": level, "name": "launch", "tid": LAUNCHER, "start_ns": start, "end_ns": end})
        place = {"stream_id": action.stream, "task_id": number, "context_id": NO_CONTEXT, "model_id": NO_MODEL}
        began = at[f"began {number}"]
        time = {"start_ns": began, "duration_ns": at[f"ended {number}"] - began, "connection_id": len(rows["api"]) - 1}
        rows["tasks"].append({**place, **time, "kernel_name": f"kernel {number}", "kernel_type": "AI_CORE"})
        rows["kernels"].append({**place, **time, "name": f"kernel {number}", "op_type": action.kind})
    rows["api"] = [{**row, "connection_id": place + 1} for place, row in enumerate(rows["api"])]
    return make_profile(host_ops=ops, **rows)


def _queue(number: int, at: Mapping[str, int]) -> Iterator[Mapping[str, object]]:
    for side, tid, start, end in (("enqueue", MAIN, "put", "in"), ("dequeue", LAUNCHER, "taken", "launched")):
        yield {
            "correlation_id": number + 1, "side": side, "tid": tid,
            "start_ns": at[f"{start} {number}"], "end_ns": at[f"{end} {number}"],
        }  # fmt: skip


def longest(ran: Ran) -> int:
    """The longest way to the end, by recursion over what had to come before."""

    @cache
    def length(event: str) -> int:
        return max((length(cause) + took for cause, took in ran.edges[event]), default=0)

    return length("end")


programs = st.lists(actions, min_size=1, max_size=14).filter(lambda program: not all(each.waits for each in program))


@settings(max_examples=60)
@given(program=programs)
def test_the_parts_follow_each_other_and_add_up_to_the_longest_path(program: list[Action]) -> None:
    ran = run(program)
    path = critical_path(profile_of(program, ran, steps=True))
    start, end = path["start_ns"].to_list(), path["end_ns"].to_list()
    assert all(begin < until for begin, until in zip(start, end, strict=True))
    assert start[1:] == end[:-1]
    assert path["step"].unique().to_list() == ["4"]
    assert (start[0], end[-1]) == (BEGIN, BEGIN + ran.times["end"])
    assert sum(end) - sum(start) == longest(ran) == ran.times["end"]
    for row in path.filter(pl.col("kind") == "kernel").iter_rows(named=True):
        number = int(row["name"].split()[1])
        assert (row["start_ns"], row["end_ns"]) == tuple(BEGIN + ran.times[f"{e} {number}"] for e in ("began", "ended"))
        assert held_by(row, path) in holders(ran, number), "nothing on a longest path could have begun earlier"


def held_by(row: Mapping[str, int], path: pl.DataFrame) -> str:
    """Whether a kernel waited for its launch or for the stream, as the parts before it say."""
    before = path.filter(pl.col("end_ns") <= row["start_ns"])["kind"].to_list()[::-1]
    return (
        "stream" if next(kind for kind in before if kind != "gap") == "kernel" and before[0] != "launch" else "launch"
    )


def holders(ran: Ran, number: int) -> set[str]:
    edges = ran.edges[f"began {number}"]
    held = [ran.times[cause] + took == ran.times[f"began {number}"] for cause, took in edges]
    return {name for name, holds in zip(("launch", "stream"), held, strict=False) if holds}


@settings(max_examples=60)
@given(program=programs, kind=st.sampled_from(TYPES))
def test_what_is_taken_away_shortens_a_step_by_no_more_than_its_bound(program: list[Action], kind: str) -> None:
    """Each program runs again without something: one type of kernel, all of them, the host."""
    ran = run(program)
    path = critical_path(profile_of(program, ran, steps=True))
    types, groups = (dict(bounds(path, by).select("what", "us").iter_rows()) for by in ("type", "group"))
    assert set(groups) <= set(GROUPS)
    assert sum(groups.values()) == pytest.approx(ran.times["end"] / 1000)
    without = (
        (types.get(kind, 0.0), [evolve(action, runs=0) if action.kind == kind else action for action in program]),
        (groups.get("kernels", 0.0), [evolve(action, runs=0) for action in program]),
        (groups.get("host", 0.0), [evolve(action, think=0, put=0, take=0) for action in program]),
    )
    for bound, faster in without:
        assert (ran.times["end"] - run(faster).times["end"]) / 1000 <= bound + 1e-9


@settings(max_examples=20)
@given(program=programs)
def test_without_steps_the_path_is_of_all_that_the_device_did(program: list[Action]) -> None:
    ran = run(program)
    path = critical_path(profile_of(program, ran, steps=False))
    began, ended = (
        [time for event, time in ran.times.items() if event.startswith(begins)] for begins in ("began", "ended")
    )
    assert (path["start_ns"][0], path["end_ns"][-1]) == (BEGIN + min(began), BEGIN + max(ended))
    assert path["start_ns"][1:].to_list() == path["end_ns"][:-1].to_list()
