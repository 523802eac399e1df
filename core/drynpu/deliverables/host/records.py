"""Host metrics that were measured while the recording ran, as the collector's text files."""

from __future__ import annotations

import time
from collections.abc import Mapping

import polars as pl

from drynpu.deliverables.host import facts
from drynpu.deliverables.host._text_lines import HOST_DISK
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.options import HostSystem, HostUsage, fixed_hz
from drynpu.simulate.host_activity import HostSamples

_SYSTEMS: Mapping[HostSystem, str] = {
    HostSystem.CPU: "host_cpu",
    HostSystem.MEMORY: "host_mem",
    HostSystem.NETWORK: "host_network",
}
_USAGES: Mapping[HostUsage, tuple[str, str]] = {
    HostUsage.CPU: ("host_sys_cpu", "host_process_cpu"),
    HostUsage.MEMORY: ("host_sys_mem", "host_process_mem"),
}
_MEASURED = frozenset((*_SYSTEMS, HostSystem.DISK))
_NUMA_NOTE = "NUMA metrics are not written: they need perf"


def build(context: RecordContext) -> GroupRecords:
    """
    Return the samples of the host that the request asks for.

    They are measured, and stay at the times at which they were measured on either clock: on the projected clock they
    do not move with the operators, so that rates stay what they were.
    """
    sampling, samples = context.request.sampling, context.recording.host_samples
    notes = [_NUMA_NOTE] if HostSystem.NUMA in sampling.host_systems else []
    measurable = [item for item in sampling.host_systems if item in _MEASURED]
    if not measurable and not sampling.host_usage:
        return GroupRecords(notes=tuple(notes))
    if samples is None:
        return GroupRecords(notes=(*notes, "host metrics are not written: nothing was measured during the recording"))
    text: dict[str, object] = {}
    for system in measurable:
        if system in _SYSTEMS and _SYSTEMS[system] in samples.texts:
            name = _SYSTEMS[system]
            text[name] = _rows(context, name, samples.texts[name])
    if HostSystem.DISK in measurable and len(samples.disk) > 1:
        text["host_disk"] = _disk_rows(context, samples)
    for usage in sampling.host_usage:
        whole, each = _USAGES[usage]
        if whole in samples.texts:
            text[whole] = _rows(context, whole, samples.texts[whole])
        if each in samples.processes:
            text[each] = {pid: _rows(context, each, texts) for pid, texts in samples.processes[each].items()}
    return GroupRecords(
        host_text=text, sample={"host_disk_freq": fixed_hz("sampling.host_systems")}, notes=(*notes, *samples.failures)
    )  # fmt: skip


def _rows(context: RecordContext, name: str, text: str) -> pl.DataFrame:
    """Read what was copied, and put it on the raw clock of the host."""
    entry = facts.BY_NAME[name]
    rows = pl.DataFrame(entry.parse(text.splitlines()).rows, schema=entry.schema, orient="row")
    raw = context.anchors.unix_to_host(rows["time_ns"].to_numpy())
    return rows.with_columns(pl.Series("time_ns", raw))


def _disk_rows(context: RecordContext, samples: HostSamples) -> pl.DataFrame:
    """Return one row per interval between two samples: rates of this process, and its share of time spent waiting."""
    counts = pl.DataFrame(
        samples.disk,
        schema={"time_ns": pl.Int64(), "read": pl.Int64(), "write": pl.Int64(), "waited": pl.Int64()},
        orient="row",
    )
    first = int(context.anchors.unix_to_host(counts["time_ns"][:1].to_numpy())[0])
    seconds = pl.col("time_ns").diff() / 1e9
    zone = time.localtime(counts["time_ns"][0] // 1_000_000_000).tm_gmtoff
    spent = pl.col("waited").diff() / facts.CLOCK_TICKS_PER_S / seconds * 100
    share = pl.when(spent.is_not_null()).then(pl.min_horizontal(spent, 100.0))
    rows = counts.select(
        ((pl.col("time_ns") // 1_000_000_000 + zone) % 86_400).alias("time_s"),
        pl.lit(context.destination.pid, pl.Int64).alias("pid"),
        pl.lit("be/4").alias("priority"),
        pl.lit("-").alias("user"),
        (pl.col("read").diff() / seconds).clip(lower_bound=0.0).alias("read_bytes_s"),
        (pl.col("write").diff() / seconds).clip(lower_bound=0.0).alias("write_bytes_s"),
        pl.when(share.is_not_null()).then(0.0).alias("swapin_percent"),
        share.clip(lower_bound=0.0).alias("io_percent"),
        pl.lit("python").alias("command"),
        pl.lit(first, pl.Int64).alias("start_ns"),
    )
    return rows.slice(1).select(HOST_DISK.schema.names())
