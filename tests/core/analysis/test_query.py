"""What is said of a profile that was read from results, which name neither the job nor models."""

from __future__ import annotations

from datetime import datetime

import pytest

from drynpu.analysis import query_profile

from .conftest import host_op, make_profile


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
