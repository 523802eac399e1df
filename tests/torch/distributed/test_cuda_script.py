"""A CUDA script with DDP and FSDP through transfer_to_npu, started by ``drynpu run``; tensors say npu."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("cuda_script.py")
STEPS = 2


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    drynpu = str(Path(sys.executable).with_name("drynpu"))
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    program = (drynpu, "run", "--quiet", "--report-device", *launcher)
    return scripts(SCRIPT, program=program, environment={"OMP_NUM_THREADS": "1"})


@pytest.fixture(scope="module")
def ranks(run: Any, by_rank: Callable[..., Any]) -> list[Any]:
    return by_rank(run, "out")


def test_nccl_is_hccl_and_losses_are_those_of_one_process(run: Any) -> None:
    for rank in range(2):
        told = json.loads((run.folder / f"told_{rank}.json").read_text())
        assert told["backend"] == "hccl"
        assert told["devices"] == [f"npu:{rank}"] * STEPS
        first, second = told["losses"]
        assert first[0] != second[0]
        assert [set(first), set(second)] == [{first[0]}, {second[0]}], "alone, DDP, and three ways to shard"
        assert len(first) == len(second) == 5


def test_buckets_and_shards_are_in_the_profiles_of_both_ranks(ranks: list[Any], operators: Callable[..., Any]) -> None:
    for output in ranks:
        assert Counter(of.kind for of in operators(output)) == {
            "allReduce": STEPS,
            "broadcast": 2,  # the reducer's new buckets
            "allGather": STEPS * 3,
            "reduceScatter": STEPS * 3,
        }


def test_shards_are_gathered_from_streams_of_their_own(ranks: list[Any]) -> None:
    """FSDP asks the device for them, and copies into its buffers there."""
    for output in ranks:
        kernels = output.layer("Ascend Hardware")
        computing = {event["tid"] for event in kernels if "Addmm" in event["name"]}
        copying = {event["tid"] for event in kernels if "ForeachCopy" in event["name"]}
        assert len(computing) == 1
        assert copying
        assert computing.isdisjoint(copying)


def test_the_group_of_the_mesh_has_its_name(ranks: list[Any]) -> None:
    for rank, output in enumerate(ranks):
        groups = output.document("profiler_metadata.json")["parallel_group_info"].values()
        assert {of["group_name"]: of["global_ranks"] for of in groups} == {
            "default_group": [0, 1],
            "mesh_data": [rank],
        }
