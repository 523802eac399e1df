"""What files of communication state of links and waits, for ranks whose timelines are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.core.analysis.conftest import make_profile

from drynpu.tables import Profile
from drynpu_pages.pages._stated_links import stated_links, stated_waits


def link(size_mb: float, time_ms: float, transport: str = "HCCS") -> dict[str, object]:
    return {"Transport Type": transport, "Transit Size(MB)": size_mb, "Transit Time(ms)": time_ms}


def rank(folder: Path, rank_id: int, files: dict[str, object]) -> Profile:
    folder.mkdir()
    for name, document in files.items():
        text = document if isinstance(document, str) else json.dumps({"step1": {"collective": document}})
        (folder / name).write_text(text, encoding="utf-8")
    return make_profile(rank_id=rank_id, result_files=(folder / "kernel_details.csv",))


def test_numbers_within_a_group_become_ranks(tmp_path: Path) -> None:
    itself = link(9, 9, "LOCAL")
    entries = {"4-4": itself, "4-5": link(2, 1), "4-6": link(7, 7)}
    first = {"allreduce-total@7": entries, "allreduce-top1@7": entries, "Total Op Info@7": entries}
    ranks = [
        rank(tmp_path / "a", 20, {"communication_matrix.json": first}),
        rank(tmp_path / "b", 30, {"communication_matrix.json": {"send-total@7": {"5-5": itself, "5-4": link(1, 0)}}}),
    ]
    table = stated_links(ranks).select("source", "target", "transport", "count", "time_us", "size_bytes", "gb_s")
    assert table.rows() == [
        (20, 30, "HCCS", None, 1000.0, 2_000_000, 2.0),
        (30, 20, "HCCS", None, 0.0, 1_000_000, None),
    ]


def test_waits_and_transits_are_sums_of_operators(tmp_path: Path) -> None:
    times = {"Communication Time Info": {"Wait Time(ms)": 0.5, "Transit Time(ms)": 0.25}}
    document = {"hcom_allReduce_0@7": times, "hcom_allReduce_1@7": times, "Total Op Info": times}
    assert stated_waits(rank(tmp_path / "a", 0, {"communication.json": document})) == (1000.0, 500.0)


@pytest.mark.parametrize("files", [{}, {"communication.json": "{", "communication_matrix.json": "[]"}])
def test_what_no_file_states_is_unknown(tmp_path: Path, files: dict[str, object]) -> None:
    profile = rank(tmp_path / "a", 0, files)
    assert stated_waits(profile) is None
    assert stated_links([profile]).is_empty()
