"""Options of a job of which some ranks run: how they are read, and the variables that each rank gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from drynpu import CommandError
from drynpu.cli.world import WorldFlags, WorldOptions, read_ranks, read_straggler, read_world

CONTEXT, OPTION = click.Context(click.Command("run")), click.Option(["--ranks"])
NODES = "devices: 4\nnodes: 3\nhccs: {devices: 4, gbs: 28}\nroce: {gbs: 10}\n"


def flags(**changed: Any) -> WorldFlags:
    return WorldFlags(**{"rank_jitter": 0.02} | changed)


@pytest.mark.parametrize(
    ("text", "ranks"),
    [("0", (0,)), ("17,0", (0, 17)), ("3-5", (3, 4, 5)), ("4-4", (4,)), ("9,2-3,3", (2, 3, 9)), (None, None)],
)
def test_lists_of_ranks(text: str | None, ranks: tuple[int, ...] | None) -> None:
    assert read_ranks(CONTEXT, OPTION, text) == ranks


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "1-x", "1,,2", "1.5"])
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no rank; write them as 0,17 or 0-3"):
        read_ranks(CONTEXT, OPTION, text)


@pytest.mark.parametrize(
    ("text", "straggler"), [("5:1.2", (5, 1.2)), ("0:0.01", (0, 0.01)), ("0:1000", (0, 1000.0)), (None, None)]
)
def test_stragglers(text: str | None, straggler: tuple[int, float] | None) -> None:
    assert read_straggler(CONTEXT, OPTION, text) == straggler


@pytest.mark.parametrize("text", ["5", "5:", ":2", "-1:2", "1:0.009", "1:1001", "1:x", "1.5:2"])
def test_what_is_no_straggler_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write rank and factor as 5:1.2"):
        read_straggler(CONTEXT, OPTION, text)


def test_a_rank_gets_the_variables_of_torchrun() -> None:
    """Rank 13 of 19 on nodes of 8: the second of three nodes, where it is the sixth."""
    job = WorldOptions(size=19, ranks=(13,), node_ranks=8, jitter=0, straggler=None)
    found = job.environment(13)
    where = {name: found[name] for name in ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK")}
    assert where == {"RANK": "13", "LOCAL_RANK": "5", "GROUP_RANK": "1", "ROLE_RANK": "13"}
    sizes = {name: found[name] for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE")}
    assert sizes == {"WORLD_SIZE": "19", "LOCAL_WORLD_SIZE": "8", "GROUP_WORLD_SIZE": "3", "ROLE_WORLD_SIZE": "19"}
    assert (
        WorldOptions(size=16, ranks=(0,), node_ranks=8, jitter=0, straggler=None).environment(0)["GROUP_WORLD_SIZE"]
        == "2"
    )


def test_a_job_has_rank_0_and_nodes_of_all_devices_unless_they_are_stated() -> None:
    job = read_world(flags(world=20), 8)
    assert job == WorldOptions(size=20, ranks=(0,), node_ranks=8, jitter=0.02, straggler=None)
    job = read_world(flags(world=20, ranks=(3, 19), straggler=(19, 2.0), nproc_per_node=5, rank_jitter=0.5), 8)
    assert job == WorldOptions(size=20, ranks=(3, 19), node_ranks=5, jitter=0.5, straggler=(19, 2.0))
    small = read_world(flags(world=2), 8)
    assert small is not None
    assert small.node_ranks == 2, "a node has no more ranks than there are"
    assert read_world(flags(), 8) is None


@pytest.mark.parametrize("lost", [{"ranks": (0,)}, {"straggler": (0, 2.0)}, {"nproc_per_node": 4}])
def test_options_of_a_job_need_the_job(lost: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="go with --world"):
        read_world(flags(**lost), 8)


@pytest.mark.parametrize("outside", [{"ranks": (0, 4)}, {"straggler": (4, 2.0)}])
def test_ranks_outside_of_the_world_are_refused(outside: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="rank 4 is not in a world of 4: ranks count from 0"):
        read_world(flags(world=4, **outside), 8)


def test_a_topology_states_the_nodes_and_bounds_the_world(tmp_path: Path) -> None:
    file = tmp_path / "topology.yaml"
    file.write_text(NODES)
    job = read_world(flags(world=12, topology=file), 8)
    assert job is not None
    assert job.node_ranks == 4
    assert read_world(flags(world=12, topology=file, nproc_per_node=4), 8) == job
    with pytest.raises(CommandError, match=r"a world of 13 does not fit.* 3 nodes of 4 devices, 12 ranks"):
        read_world(flags(world=13, topology=file), 8)
    with pytest.raises(CommandError, match="--nproc-per-node 3: the nodes of .* have 4 devices"):
        read_world(flags(world=12, topology=file, nproc_per_node=3), 8)
