"""A record group that a plugin brings: its records, table, csv file, layer, database table and README line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu import PluginError
from drynpu.deliverables import registry
from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.record_group import RecordGroup
from drynpu.plugins import build_manager, hookimpl
from drynpu.products import export_msprof, export_msprof_db
from drynpu.raw import device_kind, in_range, layout
from drynpu.tables import Profile
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import JsonStyle

HEAT = device_kind(
    "heat",
    "heat.data",
    layout(16, ("tick", "<u8", 0), ("millidegrees", "<u4", 8), ("sensor", "<u4", 12)),
    in_range(sensor=(0, 7)),
)
SCHEMA = pl.Schema({"device_id": pl.Int64, "time_ns": pl.Int64, "sensor": pl.Int64, "degrees": pl.Float64})
LAYER = Layer("Heat", 37, "NPU")


def build(context: RecordContext) -> GroupRecords:
    rows = HEAT.new(2)
    rows["tick"], rows["millidegrees"] = context.anchors.device_cntvct + np.array([0, 1000]), [41_500, 43_250]
    rows["sensor"] = 3
    return GroupRecords(device={"heat": rows}, sample={"heat_profiling": "on"})


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    parts = []
    for side in context.devices:
        rows = context.reader.read("heat", side.device_id)
        columns = {"time_ns": side.clock.tick_to_unix(rows["tick"]), "sensor": rows["sensor"].astype(np.int64)}
        degrees = pl.DataFrame({**columns, "degrees": rows["millidegrees"] / 1000})
        parts.append(degrees.select(pl.lit(side.device_id, pl.Int64).alias("device_id"), pl.all()))
    return {"heat_samples": pl.concat(parts)}


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    return {"heat": profile.frame("heat_samples").select(pl.col("sensor", "degrees").cast(pl.String))}


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    samples = profile.frame("heat_samples")
    yield from layer_head(profile.pid, LAYER, samples, style)
    yield counters(profile.pid, LAYER, samples, "Heat", {"C": pl.col("degrees").cast(pl.String)})


def db_rows(profile: Profile) -> Iterator[tuple[str, pl.DataFrame]]:
    yield "HEAT", profile.frame("heat_samples").select(deviceId="device_id", degrees="degrees")


GROUP = RecordGroup(
    name="heat",
    kinds=(HEAT,),
    build=build,
    schemas={"heat_samples": SCHEMA},
    load=load,
    read_tables=("heat_samples",),
    csv_files=csv_files,
    layers=layers,
    db_rows=db_rows,
    db_tables=(db_table("HEAT", "deviceId degrees:R"),),
    readme={"heat.csv": "How warm the device was."},
)


class Plugin:
    def __init__(self, *groups: object) -> None:
        self.groups = groups

    @hookimpl
    def drynpu_record_groups(self) -> tuple[object, ...]:
        return self.groups


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*groups: object) -> None:
        plugins = build_manager(entry_points=[])
        plugins.register(Plugin(*groups), "thermometer")
        # As `from_plugins` asks the installed plugins, without a second try of its own.
        monkeypatch.setattr(registry, "from_plugins", lambda ask: ask(plugins))

    return install


def test_a_group_of_a_plugin_is_written_loaded_and_exported(
    install: Callable[..., None], run: Callable[..., Any], tmp_path: Path
) -> None:
    install(GROUP)
    profile = run().profile
    groups = registry.registered_groups()
    assert profile.frame("heat_samples")["degrees"].to_list() == [41.5, 43.25]
    files = {path.name.partition("_2")[0].removesuffix(".txt"): path for path in export_msprof(profile, groups=groups)}
    assert files["heat"].read_text(encoding="utf-8") == "sensor,degrees\n3,41.5\n3,43.25\n"
    assert "heat.csv:How warm the device was." in files["README"].read_text(encoding="utf-8")
    events = json.loads(files["msprof"].read_text(encoding="utf-8"))
    assert [event["args"]["C"] for event in events if event["name"] == "Heat" and event["ph"] == "C"] == [41.5, 43.25]
    path = export_msprof_db(profile, tmp_path, groups=groups)
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT degrees FROM HEAT").fetchall() == [(41.5,), (43.25,)]


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        ("no group", r"plugin 'thermometer' \(passed in\): 'no group' is no RecordGroup"),
        (RecordGroup(name="links"), "a record group or table called links already"),
        (RecordGroup(name="own", schemas={"hccs_samples": SCHEMA}), "a record group or table called hccs_samples"),
    ],
)
def test_a_group_that_cannot_be_told_from_others(install: Callable[..., None], group: object, reason: str) -> None:
    install(group)
    with pytest.raises(PluginError, match=reason):
        registry.registered_groups()
