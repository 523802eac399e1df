"""Several devices in one directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import evolve

from drynpu.kernels import Operators
from drynpu.options import Clock, HostSystem, ProfilingRequest, Sampling, Switches
from drynpu.platforms import Chip
from drynpu.products import load_profile
from drynpu.recorder import Outcome, Setup, write_devices
from drynpu.simulate import Destination, Mark, MarkKind, Recording

COLUMNS = ("stream_id", "name", "op_type", "start_ns", "duration_ns")


def recording(tools: Any, table: Operators) -> Recording:
    at_ns = tools.begin_ns + 5000
    mark = Mark(kind=MarkKind.EXTENDED_POINT, message="here", start_ns=at_ns, end_ns=at_ns, thread=tools.pid, stream=2)
    end_ns = int(table.end_ns.max()) + 10_000
    return Recording(operators=table, begin_ns=tools.begin_ns, end_ns=end_ns, marks=(mark, evolve(mark)))


def test_each_device_is_as_it_is_alone(tools: Any, write: Callable[..., Outcome], chip: Chip, tmp_path: Path) -> None:
    request = ProfilingRequest(switches=Switches(tx=True), sampling=Sampling(host_systems=(HostSystem.CPU,)))
    short = tools.operators([tools.Row("mm", 1000, 60_000), tools.Row("add", 70_000, 90_000)])
    tables = {1: tools.mixture(), 6: short}
    outcome = write_devices(
        {device: recording(tools, table) for device, table in tables.items()},
        Destination(directory=tmp_path / "both", framework="acl", pid=tools.pid, host_data=False),
        Setup(request=request, chip=chip, clock=Clock.PROJECTED, seed=0, anchors=tools.anchors, plan=tools.plan),
    )
    assert outcome.prof_path is not None
    both = load_profile(outcome.prof_path)
    assert both.notes == (), "every task has its launch on the host"
    assert both.device_ids == (1, 6)
    kernels = 0
    for device, table in tables.items():
        alone = load_profile(write(table, f"alone{device}", device_id=device).directory)
        own = both.kernels.filter(both.kernels["device_id"] == device)
        assert own.select(COLUMNS).equals(alone.kernels.select(COLUMNS))
        kernels += own.height
    assert outcome.kernels >= kernels
    marks = both.frame("marks")
    assert marks["mark_id"].to_list() == [1, 2, 3, 4]
    assert sorted(marks["device_id"].to_list()) == [1, 1, 6, 6]
    assert sum("host metrics" in note for note in outcome.notes) == 1, "the host is asked once"
