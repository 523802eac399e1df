"""What to provide for a usage, and cores, memory, disk and network of the host, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu.deliverables.host import facts
from drynpu.deliverables.host.files import _recommended, csv_files
from drynpu.deliverables.host.tables import SCHEMAS
from drynpu.layouts.host import AVERAGE
from drynpu.writers.number_text import Writer


def profile(**tables: list[dict[str, Any]]) -> Any:
    frames = {
        name: pl.DataFrame(
            [{**{column: "" if dtype == pl.String else 0 for column, dtype in schema.items()}, **row}
             for row in tables.get(name, [])],
            schema=schema,
        )
        for name, schema in SCHEMAS.items()
    }  # fmt: skip
    return SimpleNamespace(pid=4321, frame=frames.__getitem__)


def cells(name: str, **tables: list[dict[str, Any]]) -> dict[str, str]:
    (row,) = csv_files(profile(**tables), Writer.NATIVE)[name].to_dicts()
    return row


def test_a_high_usage_is_provided_for_with_room_to_spare() -> None:
    """Of 51 usages above 0, 98 % of the way from the first to the last is the one but last; zeros do not count."""
    share, room = facts.RECOMMENDED_SHARE, facts.BEST_LOAD
    assert (share, room) == (0.98, 0.8)
    usage = pl.Series([0.0] * 70 + [float(number) for number in range(51, 0, -1)])
    assert _recommended(usage) == pytest.approx(50 / 0.8)
    assert _recommended(pl.Series([0.0, 4.0, 0.0])) == pytest.approx(5.0)
    assert _recommended(pl.Series([2.0, 4.0])) == pytest.approx(5.0)
    assert _recommended(pl.Series([0.0, 0.0])) == 0.0


def test_cores_are_counted_and_those_that_were_used_are_recommended() -> None:
    rows = [("0", 0.0), ("0", 5.0), ("1", 0.0), ("3", 7.0), (AVERAGE, 9.0)]
    found = cells("host_cpu_usage", host_cpu_usage=[{"cpu": cpu, "usage": usage, "cores": 8} for cpu, usage in rows])
    assert list(found.values())[1:] == ["8", "3", "2"]


def test_memory_is_of_the_whole_and_disks_and_cards_have_their_peaks() -> None:
    memory = [{"total_kb": 4000, "usage": 10.0}, {"total_kb": 4000, "usage": 25.0}]
    found = cells("host_mem_usage", host_memory_usage=memory)
    assert [float(cell) for cell in list(found.values())[1:]] == [4000, 1000, 1250]
    disk = [{"read_kb_s": 8.0, "write_kb_s": 2.0}, {"read_kb_s": 3.0, "write_kb_s": 40.0}]
    found = cells("host_disk_usage", host_disk_usage=disk)
    assert [float(cell) for cell in list(found.values())[1:]] == [8, 10, 40, 50]
    network = [{"card_kb_s": 100.0, "kb_s": 16.0}, {"card_kb_s": 100.0, "kb_s": 4.0}]
    found = cells("host_network_usage", host_network_usage=network)
    assert [float(cell) for cell in list(found.values())[1:]] == [100, 16, 20]
    assert csv_files(profile(), Writer.NATIVE)["host_network_usage"].is_empty()
