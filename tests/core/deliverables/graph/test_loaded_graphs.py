"""Loaded graphs: the host launches each node once, inside ``ModelLoad``, and the device runs it in every execution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attrs import evolve
from tests.by_hand import BEGIN_NS

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.layouts.graph import GRAPH_ID_MAP
from drynpu.options import Clock
from drynpu.raw import ProfReader
from drynpu.tables import NO_MODEL, Profile

ITERATIONS, NODES, MODEL_ID = 3, 5, 7
NODE_NAMES = ["fp32_vars/first_kernel", "Conv2D_kernel", "Where_kernel", "Conv2DGrad_kernel", "ApplyAdam_kernel"]


@pytest.fixture
def loaded(record: Callable[..., Profile], graph_plan: Any) -> Callable[..., Profile]:
    return lambda **more: record(plans=graph_plan, **more)


def raw(tmp_path: Path, kind: str) -> np.ndarray:
    (prof,) = tmp_path.glob("run_ascend_pt/PROF_*")
    reader = ProfReader(prof, RECORD_KINDS)
    entry = RECORD_KINDS.record(kind)
    return np.concatenate(list(reader.parts(kind, None if entry.side == "host" else 0)))


def calls(profile: Profile, level: str, name: str) -> pl.DataFrame:
    return profile.api.filter((pl.col("level") == level) & (pl.col("name") == name)).sort("start_ns")


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910A", "Ascend310", "Ascend310P3", "Ascend950PR"])
def test_every_execution_has_the_kernels_with_names_and_model(loaded: Callable[..., Profile], chip: str) -> None:
    kernels = loaded(chip=chip).kernels.sort("start_ns")
    assert kernels["name"].to_list() == ["Outside_kernel", *NODE_NAMES * ITERATIONS]
    assert kernels["model_id"].to_list() == [NO_MODEL, *[MODEL_ID] * NODES * ITERATIONS]
    assert set(kernels["op_state"][1:]) == {"static"}
    assert kernels["input_shapes"].n_unique() == 1
    nodes = kernels[1:]
    for number in range(NODES):
        assert nodes[number::NODES].select("stream_id", "task_id", "batch_id").n_unique() == 1
    assert nodes.select("stream_id", "task_id").n_unique() == NODES


def test_the_host_launches_each_node_once_within_the_load(loaded: Callable[..., Profile]) -> None:
    profile = loaded()
    (load,) = calls(profile, "model", "ModelLoad").iter_rows(named=True)
    launches = calls(profile, "node", "launch")
    outside, nodes = (
        launches.filter(pl.col("item") == "Outside_kernel"),
        launches.filter(pl.col("item") != "Outside_kernel"),
    )
    assert nodes["item"].to_list() == NODE_NAMES
    assert nodes["start_ns"].min() > load["start_ns"]
    assert nodes["end_ns"].max() < load["end_ns"] < BEGIN_NS
    assert set(nodes["tid"]) == {load["tid"]}
    assert not set(outside["tid"]) & {load["tid"]}
    assert calls(profile, "runtime", "KernelLaunchWithHandle").height == NODES + 1
    assert calls(profile, "model", "ModelExecute")["tid"].to_list() == [outside["tid"][0]] * ITERATIONS


def test_raw_records_describe_a_node_once(loaded: Callable[..., Profile], tmp_path: Path) -> None:
    loaded()
    for kind in ("task_track", "node_basic_info", "tensor_info"):
        assert len(raw(tmp_path, kind)) == NODES + 1, kind
    tasks = raw(tmp_path, "stars_soc")
    assert len(tasks) == 2 * (NODES * ITERATIONS + 1)
    assert len(np.unique(tasks["task_id"])) == NODES + 1


def test_an_execution_is_one_launch(loaded: Callable[..., Profile]) -> None:
    executions = calls(loaded(clock=Clock.MODELLED, recording={"dataset": ()}), "model", "ModelExecute")
    assert (executions["end_ns"] - executions["start_ns"]).to_list() == [6800] * ITERATIONS


def test_a_load_in_the_recording_ends_before_the_first_execution(
    loaded: Callable[..., Profile], graph_run: Callable[..., Any], tmp_path: Path
) -> None:
    profile = loaded(graphs=(graph_run(load=(BEGIN_NS + 500_000, BEGIN_NS + 1_100_000)),))
    (load,) = calls(profile, "model", "ModelLoad").iter_rows(named=True)
    launches = calls(profile, "node", "launch").filter(pl.col("item") != "Outside_kernel")
    assert BEGIN_NS < load["start_ns"] < launches["start_ns"].min()
    assert launches["end_ns"].max() < load["end_ns"] < calls(profile, "model", "ModelExecute")["start_ns"].min()
    (reported,) = raw(tmp_path, GRAPH_ID_MAP.name)["timestamp"].tolist()
    assert launches["end_ns"].max() < reported - 5_000_000_000 + BEGIN_NS < load["end_ns"]


def test_communication_of_a_graph_is_launched_with_it(
    loaded: Callable[..., Profile], all_reduces: tuple[Any, ...], tmp_path: Path
) -> None:
    shared = tuple(evolve(each, in_graph=True) for each in all_reduces)
    profile = loaded(recording={"collectives": shared})
    (load,) = calls(profile, "model", "ModelLoad").iter_rows(named=True)
    launches = calls(profile, "node", "launch").filter(pl.col("item").str.starts_with("hcom_"))
    assert (
        launches["item"].to_list() == ["hcom_allReduce_", "hcom_allReduce_", "hcom_allGather_"] or launches.height == 3
    )
    assert launches["start_ns"].min() > load["start_ns"]
    assert launches["end_ns"].max() < load["end_ns"]
    found = profile.communication_ops.sort("start_ns")
    assert found["model_id"].to_list() == [MODEL_ID] * 3 * ITERATIONS
    assert [name.rsplit("_", 1)[1] for name in found["name"]] == ["1", "1", "1", "2", "2", "2", "3", "3", "3"]
    assert set(found["group"]) != {""}
    assert len(raw(tmp_path, "hccl_op_info")) == 3
    assert calls(profile, "acl", "hcom_allReduce_").is_empty()


def test_where_ids_come_round_again_nodes_have_a_stream_of_their_graph(
    loaded: Callable[..., Profile], graph_operators: Callable[[], Any]
) -> None:
    table = graph_operators()
    rows = np.concatenate([np.zeros(66_000, np.int64), np.arange(len(table))])
    at = np.concatenate([table.end_ns[-1] + 1000 + 100 * np.arange(66_000), table.start_ns])
    rows, at = rows[np.argsort(at, kind="stable")], np.sort(at)
    # One execution more, behind all that makes the ids of the stream begin again.
    many = table.select(rows, start_ns=at, end_ns=at + 50)
    profile = loaded(recording={"operators": many, "end_ns": int(at[-1]) + 10_000_000})
    nodes = profile.kernels.filter(pl.col("name") != "Outside_kernel")
    assert nodes.height == NODES * ITERATIONS
    assert set(nodes["stream_id"]) == {3}
    assert set(nodes["model_id"]) == {MODEL_ID}
