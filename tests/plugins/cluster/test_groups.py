"""Groups: stages of pipelines, and the places of ranks among parallel dimensions."""

from __future__ import annotations

import pytest

from drynpu_cluster import Group
from drynpu_cluster._groups import parallel_places, pipeline_stages


def group(kind: str, *ranks: int, purpose: str = "") -> Group:
    return Group(kind, ranks, ranks, str(ranks), purpose=purpose)


def test_stages_follow_from_pipelines_and_groups_within_them() -> None:
    pipelines = [
        group("p2p", 0, 2, purpose="pp"),
        group("p2p", 2, 4, purpose="pp_next"),
        group("p2p", 1, 3, purpose="PP"),
    ]
    groups = [*pipelines, group("collective", 0, 1), group("collective", 2, 3), group("collective", 0, 1, 2, 3, 4)]
    assert pipeline_stages(groups) == ((0, 1), (2, 3))


def test_groups_that_overlap_are_one_stage() -> None:
    groups = [group("p2p", 0, 9, purpose="pp"), group("collective", 0, 1), group("collective", 1, 2)]
    assert pipeline_stages(groups) == ((0, 1, 2),)


def test_without_pipelines_there_are_no_stages() -> None:
    assert pipeline_stages([group("p2p", 0, 1), group("collective", 0, 1)]) == ()


def test_tensor_parallel_ranks_are_neighbours() -> None:
    arguments = {
        "world_size": 8,
        "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 2,
        "data_parallel_size": 2,
    }
    places = parallel_places(arguments, 8)
    assert places is not None
    # Megatron: tensor first, then data, then pipeline.
    assert [places[rank] for rank in (0, 1, 2, 4, 7)] == [(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 1, 1)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"world_size": 4, "data_parallel_size": 2},
        {"world_size": 2, "data_parallel_size": 2},
        {"world_size": "4", "data_parallel_size": 4},
        {"world_size": 4, "data_parallel_size": 4, "context_parallel_size": 2},
        {"world_size": 4, "data_parallel_size": 4, "expert_model_parallel_size": 3},
    ],
)
def test_sizes_that_do_not_fit_give_no_places(arguments: dict[str, object]) -> None:
    assert parallel_places(arguments, 4) is None
