"""Counters of monitors on the timeline, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.monitors.files import layers
from drynpu.deliverables.monitors.tables import SCHEMAS
from drynpu.platforms._platform import PlatformLinks
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace

US = 1000


def written(path: Path, writer: Writer = Writer.NATIVE, *, dies: bool = False, **tables: list[tuple[Any, ...]]) -> Any:
    """Return the events of the layers of some rows."""
    frames = {name: pl.DataFrame(tables.get(name, []), schema=SCHEMAS[name], orient="row") for name in SCHEMAS}
    platform = SimpleNamespace(links=PlatformLinks(dies=dies))
    profile: Any = SimpleNamespace(pid=4321, frame=frames.__getitem__, platform=platform)
    assert write_trace(path / "t.json", layers(profile, COMPACT, writer), COMPACT)
    return json.loads((path / "t.json").read_text(encoding="utf-8"))


def counters(events: Any) -> list[tuple[str, float, dict[str, Any]]]:
    return [(event["name"], float(event["ts"]), event["args"]) for event in events if event["ph"] == "C"]


def test_of_accelerators_at_the_same_time_the_largest_is_shown(tmp_path: Path) -> None:
    rows = [(0, US, 1, 7, 20, 3, 40), (0, US, 2, 9, 10, 1, 50), (0, 2 * US, 1, 4, None, 2, 0)]
    assert counters(written(tmp_path, acc_pmu_samples=rows)) == [
        ("read_bandwidth", 1.0, {"value": 9}),
        ("read_bandwidth", 2.0, {"value": 4}),
        ("read_ost", 1.0, {"value": 3}),
        ("read_ost", 2.0, {"value": 2}),
        ("write_bandwidth", 1.0, {"value": 20}),
        ("write_ost", 1.0, {"value": 50}),
        ("write_ost", 2.0, {"value": 0}),
    ]


LINKS = [(0, US, "pa", 3, 11, 12), (0, US, "pcie", 5, 13, 14), (0, 2 * US, "pa", 4, 15, 16)]


def test_links_of_a_kind_have_a_thread_that_one_writer_names(tmp_path: Path) -> None:
    events = written(tmp_path, chip_links=LINKS)
    assert counters(events) == [
        ("PA Link Rx", 1.0, {"PA Link ID": 3, "PA Link Rx": 11}),
        ("PA Link Rx", 2.0, {"PA Link ID": 4, "PA Link Rx": 15}),
        ("PA Link Tx", 1.0, {"PA Link ID": 3, "PA Link Tx": 12}),
        ("PA Link Tx", 2.0, {"PA Link ID": 4, "PA Link Tx": 16}),
        ("PCIE Write Bandwidth", 1.0, {"PCIE ID": 5, "PCIE Write Bandwidth": 13}),
        ("PCIE Read Bandwidth", 1.0, {"PCIE ID": 5, "PCIE Read Bandwidth": 14}),
    ]
    assert [event["tid"] for event in events if event["ph"] == "C"] == [111111] * 4 + [100010] * 2
    assert not [event for event in events if event["name"] == "thread_name"]
    named = [event for event in written(tmp_path, Writer.PYTHON, chip_links=LINKS) if event["name"] == "thread_name"]
    assert [event["args"]["name"] for event in named] == ["PA Link", "PCIE"]
    alone = [e for e in written(tmp_path, Writer.PYTHON, chip_links=LINKS[1:2]) if e["name"] == "thread_name"]
    assert [event["args"]["name"] for event in alone] == ["PCIE"]


def test_dies_are_series_of_links(tmp_path: Path) -> None:
    assert counters(written(tmp_path, dies=True, chip_links=LINKS)) == [
        ("PA Link Rx", 1.0, {"U-Die3": 11}),
        ("PA Link Rx", 2.0, {"U-Die4": 15}),
        ("PA Link Tx", 1.0, {"U-Die3": 12}),
        ("PA Link Tx", 2.0, {"U-Die4": 16}),
        ("PCIE Write Bandwidth", 1.0, {"U-Die5": 13}),
        ("PCIE Read Bandwidth", 1.0, {"U-Die5": 14}),
    ]


def test_partitions_show_the_dies_with_a_sample_at_a_time(tmp_path: Path) -> None:
    rows = [(0, US, 0, "a", 11), (0, US, 1, "a", 12), (0, 2 * US, 1, "a", 13), (0, US, 1, "b", 14)]
    found = counters(written(tmp_path, qos_samples=rows))
    assert sorted(found, key=lambda each: (each[1], each[0])) == [
        ("QoS a", 1.0, {"die 0": 11, "die 1": 12}),
        ("QoS b", 1.0, {"die 1": 14}),
        ("QoS a", 2.0, {"die 1": 13}),
    ]
    whole = counters(written(tmp_path, qos_samples=[(0, US, None, "a", 11)]))
    assert whole == [("QoS a", 1.0, {"value": 11})]
