"""The summary as a plain document, for programs."""

from __future__ import annotations

import attrs

from drynpu.analysis import Summary


def summary_document(summary: Summary) -> dict[str, object]:
    """Return *summary* as JSON types; times in us, sizes in bytes, shares 0 to 1."""
    return {
        "path": str(summary.path),
        "chip": summary.chip,
        "clock": summary.clock,
        "level": summary.level,
        "device_ids": list(summary.device_ids),
        "steps": summary.steps.to_dicts(),
        "kernels": [attrs.asdict(kernel) for kernel in summary.kernels],
        "kernel_count": summary.kernel_count,
        "kernel_us": summary.kernel_us,
        "kernel_interval_us": None if summary.kernel_interval_us is None else list(summary.kernel_interval_us),
        "step_intervals_us": None
        if summary.step_intervals_us is None
        else [list(ends) for ends in summary.step_intervals_us],
        "iterations": [attrs.asdict(iterations) for iterations in summary.iterations],
        "unmapped": dict(summary.unmapped),
        "unknown": dict(summary.unknown),
        "busy": [attrs.asdict(busy) for busy in summary.busy],
        "peak_allocated_bytes": summary.peak_allocated_bytes,
        "peak_reserved_bytes": summary.peak_reserved_bytes,
        "files": dict(summary.files),
        "absent": [attrs.asdict(absent) for absent in summary.absent],
        "missing": None if summary.missing is None else list(summary.missing),
        "notes": list(summary.notes),
    }
