"""Graphs that were captured from streams: the runtime says whose streams they have, and a replay is one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.by_hand import BEGIN_NS

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.options import Clock, Level
from drynpu.raw import ProfReader
from drynpu.tables import NO_MODEL, Profile

REPLAYS, NODES, MODEL_ID = 3, 5, 7
STREAMS = ((2, 9),)
"""The graph runs on the stream of the recording's operators what the script put on the ninth."""


@pytest.fixture
def captured(record: Callable[..., Profile], graph_plan: Any, graph_run: Callable[..., Any]) -> Callable[..., Profile]:
    def make(*, load: tuple[int, int] | None = None, **more: Any) -> Profile:
        graph = graph_run(streams=STREAMS, fusions=(), static_memory=(), load=load)
        return record(plans=graph_plan, graphs=(graph,), **more)

    return make


def calls(profile: Profile, level: str, name: str) -> pl.DataFrame:
    return profile.api.filter((pl.col("level") == level) & (pl.col("name") == name)).sort("start_ns")


def raw(tmp_path: Path, kind: str) -> np.ndarray:
    (prof,) = tmp_path.glob("run_ascend_pt/PROF_*")
    return ProfReader(prof, RECORD_KINDS).read(kind)


def test_kernels_of_replays_belong_to_the_graph_by_their_stream(captured: Callable[..., Profile]) -> None:
    # What ran on that stream before the capture belongs to no graph.
    kernels = captured(load=(BEGIN_NS + 500_000, BEGIN_NS + 900_000)).kernels.sort("start_ns")
    assert kernels["model_id"].to_list() == [NO_MODEL, *[MODEL_ID] * NODES * REPLAYS]
    assert set(kernels["op_state"]) == {"dynamic"}
    nodes = kernels[1:]
    for number in range(NODES):
        assert nodes[number::NODES].select("name", "stream_id", "task_id", "batch_id").n_unique() == 1


def test_the_runtime_reports_streams_with_the_time_of_the_capture(
    captured: Callable[..., Profile], tmp_path: Path
) -> None:
    captured(load=(BEGIN_NS + 500_000, BEGIN_NS + 900_000))
    (found,) = raw(tmp_path, "capture_stream_info")
    names = ("status", "model_stream", "original_stream", "model_id", "device_id")
    assert [int(found[name]) for name in names] == [0, 2, 9, MODEL_ID, 0]
    tracks = raw(tmp_path, "task_track")
    assert len(tracks) == NODES + 1
    assert np.count_nonzero(tracks["timestamp"] > found["timestamp"]) == NODES


def test_a_replay_is_one_call_of_acl_and_no_graph_engine_is_there(captured: Callable[..., Profile]) -> None:
    profile = captured(clock=Clock.MODELLED, recording={"dataset": ()}, runtime_api=True)
    launches = calls(profile, "acl", "aclmdlRIExecuteAsync")
    assert (launches["end_ns"] - launches["start_ns"]).to_list() == [6800] * REPLAYS
    inside = calls(profile, "runtime", "ModelExecute")
    assert inside.height == REPLAYS
    assert (inside["start_ns"] > launches["start_ns"]).all()
    assert (inside["end_ns"] < launches["end_ns"]).all()
    # The calling thread launches a graph itself; another one launched its nodes, once.
    nodes = calls(profile, "node", "launch")
    assert nodes.height == NODES + 1
    assert not set(launches["tid"]) & set(nodes["tid"])
    assert profile.api.filter(pl.col("level") == "model").is_empty()
    assert profile.frame("graphs").is_empty()
    assert profile.frame("iterations").is_empty()


def test_without_tasks_the_calls_of_replays_are_left(captured: Callable[..., Profile], tmp_path: Path) -> None:
    assert calls(captured(level=Level.NONE), "acl", "aclmdlRIExecuteAsync").height == REPLAYS
    assert len(raw(tmp_path, "capture_stream_info")) == 0
