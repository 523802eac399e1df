"""``FRAMEWORK/``: what a framework's own profiler recorded."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64
from drynpu.deliverables.record_context import RecordContext
from drynpu.products._framework_files import write_collections, write_frames
from drynpu.products.registry import product_named


def write_framework_data(context: RecordContext, *, keep_computing: bool) -> None:
    """
    Write ``FRAMEWORK/`` of a recording, in the layouts of its framework.

    *keep_computing* keeps the operators by which the CPU computed a kernel; a device would not have run them.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    recording, destination = context.recording, context.destination
    product, prefix = product_named(destination.framework), destination.framework
    directory = destination.directory / product.folder
    product.write(directory, context, keep_computing)

    def to_raw(time_ns: I64) -> I64:
        return context.simulation.time_map(time_ns) + context.to_raw_ns

    if recording.python_frames is not None:
        write_frames(directory, prefix, recording.python_frames, to_raw, destination.pid)
    garbage_ns = np.array(recording.garbage_ns, np.int64).reshape(-1, 2)
    write_collections(directory / f"{prefix}.gc_record", garbage_ns, to_raw, destination.pid)
