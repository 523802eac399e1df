"""What an adapter captured, which is the input of a simulation, and the directory that the result goes to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64
from drynpu.device import LaunchMode
from drynpu.kernels import Accesses, Allocations, Operators
from drynpu.simulate._inputs import Collective, DatasetEvent, GraphRun, HostCall, Mark, Rendezvous
from drynpu.simulate.host_activity import AclCalls, FrameworkEvents, HostSamples, PythonFrames

MINDSPORE = "mindspore"
"""The framework whose host data have layouts of their own."""

PYTORCH = "torch"
"""The framework that marks no steps on the device (Ascend/pytorch AclInterface.cpp: nothing calls start_deliver_op)."""


@frozen(kw_only=True)
class Destination:
    """
    The directory that a recording is written to, and the process that it is of.

    ``framework`` is the prefix of the files in ``FRAMEWORK``; ``prof_number`` counts the PROF directories of this
    process from 0. ``host_data`` and ``device_data`` say which of ``FRAMEWORK`` and ``PROF_*`` are written.
    ``prof_path`` is a PROF directory that is there from the start on, None for a new one.
    """

    directory: Path
    framework: str
    pid: int
    device_id: int = 0
    rank_id: int = -1
    prof_number: int = 0
    host_data: bool = True
    device_data: bool = True
    prof_path: Path | None = None


@frozen(eq=False, kw_only=True)
class Recording:
    """
    What an adapter captured, on the measured host timeline (Unix ns).

    Attributes
    ----------
    host_calls:
        What the host did besides operators: waits for the device, events, pauses of the profiler.
    streams:
        Stream switches ``(time_ns, thread, stream)``, per thread in time order.
    live_before_bytes:
        Device memory held when the recording began.
    collectives:
        Communication operators, on streams of their groups, beside the streams of the operators.
    """

    operators: Operators
    allocations: Allocations = field(factory=Allocations.empty)
    begin_ns: int
    end_ns: int
    host_calls: tuple[HostCall, ...] = ()
    streams: tuple[tuple[int, int, int], ...] = ()
    live_before_bytes: int = 0
    graphs: tuple[GraphRun, ...] = ()
    collectives: tuple[Collective, ...] = ()
    marks: tuple[Mark, ...] = ()
    dataset: tuple[DatasetEvent, ...] = ()
    host_samples: HostSamples | None = None
    rendezvous: Rendezvous | None = None
    """Tells how long the collectives wait for other ranks; without it their ``wait_ns`` does."""
    python_frames: PythonFrames | None = None
    memory_totals: I64 | None = None
    """
    Unix ns, bytes allocated and bytes reserved after each event of the framework's own pool, ``[n, 3]``. It is written
    for MindSpore where no ``allocations`` are known.
    """
    framework_events: FrameworkEvents | None = None
    """What the framework recorded of its own host side; written for MindSpore alone."""
    garbage_ns: tuple[tuple[int, int], ...] = ()
    """Start and end of every garbage collection to be shown, in time order."""
    processor_waits: I64 | None = None
    """
    Times at which a thread had waited for a processor of this machine since a moment before, or had collected garbage,
    and how long, in ns, ``[n, 2]``; None where nobody looked.
    """
    accesses: Accesses | None = None
    """Which memory the operators touched, where that is known: tells what L2 still holds of it."""
    calls: AclCalls | None = None
    """Calls that the script made into the vendor's library itself."""
    launch_mode: LaunchMode = LaunchMode.QUEUE
    """Which thread launches."""
    modelled: tuple[str, ...] = ()
    """Parts that the adapter modelled instead of measuring them, as the metadata names them."""
    notes: tuple[str, ...] = ()
    """What readers of the profile have to know of the run, a line each."""
    served_by: str = ""
    """What played the NPU for the framework, where there are several."""

    def highest_thread(self, pid: int) -> int:
        """
        Return the highest thread id that occurs, at least *pid*; the next id belongs to no thread in the recording.

        The operating system may have given that number to a thread that left no trace, or to another process: readers
        tell those apart by the pid.
        """
        used = [pid, *(call.thread for call in self.host_calls), *(thread for _, thread, _ in self.streams)]
        used += [collective.thread for collective in self.collectives]
        used += [thread for mark in self.marks for thread in (mark.thread, mark.end_thread) if thread is not None]
        columns = [self.operators.thread, self.allocations.thread]
        columns += [] if self.calls is None else [self.calls.thread]
        columns += [] if self.framework_events is None else [self.framework_events.records["tid"].astype(np.int64)]
        return max(*used, *(int(column.max(initial=0)) for column in columns))
