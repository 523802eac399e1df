"""The recorded history of the allocator: events, addresses and stacks in the layout that PyTorch's viewers read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.scripts import FRESH

SCRIPT = Path(__file__).with_name("history.py")
MB = 1 << 20
Run = Any


@pytest.fixture
def case(run: Run, tmp_path: Path) -> Any:
    return lambda name, **environ: run(SCRIPT, name, str(tmp_path / "snapshot.pickle"), **environ)


def test_events_are_in_order_with_addresses_and_sizes(case: Any) -> None:
    found, later, is_known, devices = case("order", DRYNPU_DEVICES="3")
    assert found == [
        ["segment_alloc", 20 * MB, 0],
        ["alloc", 3 * MB, 0],
        ["segment_alloc", 2 * MB, 20 * MB],
        ["alloc", 2000, 20 * MB],
        ["free_requested", 2000, 20 * MB],
        ["free_completed", 2000, 20 * MB],
        ["segment_free", 2 * MB, 20 * MB],
    ]
    assert [row[:2] for row in later] == [["snapshot", 3 * MB + 512]], "the block of 3 MiB, padded and rounded up"
    assert is_known
    assert devices == 3


@pytest.mark.slow
def test_stacks_are_read_where_the_script_asks(case: Any) -> None:
    found = case("stacks", **FRESH)
    path = ["make", "stacks"]
    # segment, two allocations, the release of one in two events; the release has a stack of its own where all have.
    assert found["all python"][0] == [path, path, path, ["stacks"], ["stacks"]]
    assert found["alloc python"][0] == [path] * 4, "the segment is there by now; a release shows who allocated"
    assert found["state python"][0] == found["None python"][0] == [[]] * 4
    assert [found[name][1] for name in found] == [True, True, True, False, True]
    deepest = {name: row[3] for name, row in found.items()}
    assert deepest["all python"] == 3 < deepest["all all"], "make, stacks, the module; beside them frames of C++"


@pytest.mark.slow
def test_no_more_events_are_kept_than_wanted(case: Any) -> None:
    most, last, after, _ = case("kept")
    assert most == [["alloc", 3000], ["free_requested", 3000], ["free_completed", 3000]]
    assert last == [["alloc", 500]]
    assert after == []


def test_an_allocation_that_fails_says_what_was_free(case: Any) -> None:
    action, size, free, has_address, free_now = case("full")
    assert (action, has_address) == ("oom", False)
    assert size == (1 << 36) + 2 * MB, "32 bytes of padding take another unit of 2 MiB"
    assert free == free_now


@pytest.mark.slow
def test_pages_that_grow_are_mapped(case: Any) -> None:
    rows, *_ = case("order", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert [row[:2] for row in rows] == [
        ["segment_map", 20 * MB],
        ["alloc", 3 * MB],
        ["segment_map", 2 * MB],
        ["alloc", 2000],
        ["free_requested", 2000],
        ["free_completed", 2000],
        ["segment_unmap", 2 * MB],
    ]


@pytest.mark.slow
def test_pytorchs_viewers_read_a_snapshot(case: Any) -> None:
    found = case("viewers")
    assert found.pop("memory") == found.pop("reserved")
    assert found.pop("only before") >= 1
    assert set(found.values()) == {True}


def test_texts_that_mean_nothing_raise(case: Any) -> None:
    tag = "ERR00008 PTA resource not found"
    assert case("refused") == [
        ["expected state to be 'state', 'all', or None", tag],
        ["expected context to be 'state', 'alloc', 'all', or None", tag],
        ["expected stacks to be 'python', or 'all'", tag],
    ]


def test_the_sink_says_that_it_has_no_allocator(run: Run) -> None:
    script = """
import json, torch, torch_npu
found = []
for function in (torch.npu.memory._record_memory_history, torch.npu.memory._snapshot):
    try:
        function()
    except NotImplementedError as error:
        found.append(str(error))
print(json.dumps(found))
"""
    assert run(script, device="sink") == 2 * [
        "the sink has no allocator to look into; run drynpu native build for one that has"
    ]
