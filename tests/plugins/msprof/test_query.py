"""What is said of a profile that was read from results, which name neither the job nor models."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.core.analysis.conftest import host_op, make_profile

from drynpu.tables import NO_MODEL
from drynpu_msprof.query import _models, query_profile


@pytest.mark.parametrize(("rank", "shown"), [(-1, "N/A"), (0, "0"), (6, "6")])
def test_each_device_has_a_row_with_the_rank_where_it_is_known(rank: int, shown: str) -> None:
    profile = make_profile(results={}, rank_id=rank, device_ids=(2, 5))
    rows = query_profile(profile).select("Device ID", "Dir Name", "Rank ID", "Model ID").rows()
    assert rows == [("2", "somewhere", shown, "N/A"), ("5", "somewhere", shown, "N/A")]


def test_collection_began_with_the_profile_or_with_its_first_event() -> None:
    second = 1_736_408_883
    begun = make_profile(results={}, begin_ns=second * 10**9)
    shown = datetime.fromtimestamp(second).strftime("%Y-%m-%d %H:%M:%S.%f")
    assert query_profile(begun)["Collection Time"].to_list() == [shown]
    later = {"start_ns": (second + 70) * 10**9}
    first = host_op("aten::add", second * 10**9, second * 10**9 + 5)
    events = make_profile(results={}, host_ops=[first], api=[later], tasks=[later])
    assert query_profile(events)["Collection Time"].to_list() == [shown]
    assert query_profile(make_profile(results={}))["Collection Time"].to_list() == ["N/A"]


def test_models_that_ran_a_kernel_have_their_five_longest_iterations() -> None:
    """Model 8 ran no kernel on device 2; steps without a model are always there. Equal ones are all named."""
    lengths = {4: [70, 20, 90, 40, 20, 60, 50, 10], 6: [5], 8: [5], NO_MODEL: [30, 80]}
    iterations = [
        {"device_id": device, "model_id": model, "iteration": number, "start_ns": 0, "end_ns": length + device}
        for device in (2, 3)
        for model, each in lengths.items()
        for number, length in enumerate(each, 1)
    ]
    kernels = [{"device_id": 2, "model_id": 4}, {"device_id": 2, "model_id": 6}, {"device_id": 3, "model_id": 8}]
    profile = make_profile(iterations=iterations, kernels=kernels)
    none = str(NO_MODEL)
    assert _models(profile, 2) == [("4", "8", "3,1,6,7,4"), ("6", "1", "1"), (none, "2", "2,1")]
    assert _models(profile, 3) == [("8", "1", "1"), (none, "2", "2,1")]
    assert _models(profile, 5) == []
    equal = [{"device_id": 2, "model_id": NO_MODEL, "iteration": n, "end_ns": 9 if n < 5 else 3} for n in range(1, 8)]
    assert _models(make_profile(iterations=equal), 2) == [(none, "7", "1,2,3,4,5,6,7")]
