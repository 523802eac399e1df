"""The core's exporters: what they write, read back by plain readers, and how plugins add to them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from attrs import evolve

from drynpu import PluginError
from drynpu.exporters.chrome import export_chrome
from drynpu.exporters.registry import CORE_EXPORTERS, all_exporters
from drynpu.plugins import build_manager, hookimpl
from drynpu.products import export_result, load_profile
from drynpu.tables import Profile


@pytest.fixture
def loaded(profile: Callable[[Path], Path], tmp_path: Path) -> Profile:
    return load_profile(profile(tmp_path / "host_77_20250109074803000_ascend_pt"))


def test_chrome_trace_has_the_events_of_the_profilers_own(loaded: Profile, tmp_path: Path) -> None:
    (path,) = export_chrome(loaded, tmp_path / "out")
    export_result(loaded)
    original = json.loads((loaded.path / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    assert path.name == "trace_view.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))
    assert len(events) == len(original) > 20
    days = {
        Decimal(full["ts"]) - Decimal(event["ts"]) for event, full in zip(events, original, strict=True) if "ts" in full
    }
    (begin,) = days
    assert begin % (24 * 60 * 60 * 10**6) == 0
    assert all({**event, "ts": ""} == {**full, "ts": ""} for event, full in zip(events, original, strict=True))
    # A viewer that reads us as floats still tells one ns from the next.
    assert all(round(float(event["ts"]) * 1000) == Decimal(event["ts"]) * 1000 for event in events if "ts" in event)


def test_ranks_do_not_share_a_file(loaded: Profile, tmp_path: Path) -> None:
    third = evolve(loaded, rank_id=3)
    assert [path.name for path in export_chrome(third, tmp_path)] == ["trace_view_3.json.gz"]


class Other:
    """A plugin with one exporter."""

    def __init__(self, name: str) -> None:
        self.name = name

    @hookimpl
    def drynpu_exporters(self) -> dict[str, object]:
        return {self.name: print}


def test_plugins_add_exporters_and_replace_none() -> None:
    plugins = build_manager(entry_points=(), plugins=[("one", Other("csv"))])
    assert all_exporters(plugins) == {**CORE_EXPORTERS, "csv": print}
    plugins.register(Other("chrome"), "two")
    with pytest.raises(PluginError, match=r"plugin 'two' \(passed in\): the exporter 'chrome' exists already"):
        all_exporters(plugins)
