"""What an adapter captured: the input of a simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.kernels import Allocations, Operators
from drynpu.simulate._acl_calls import AclCalls
from drynpu.simulate._framework_events import FrameworkEvents
from drynpu.simulate._host_samples import HostSamples
from drynpu.simulate._inputs import Collective, DatasetEvent, GraphRun, HostMark, Meeting, TxMark
from drynpu.simulate._python_frames import PythonFrames


@frozen(eq=False, kw_only=True)
class Recording:
    """
    What an adapter captured, on the measured host timeline (Unix ns).

    Attributes
    ----------
    marks:
        Synchronising calls, event records and waits, pauses of the profiler.
    streams:
        Stream switches ``(time_ns, thread, stream)``, per thread in time order.
    live_before_bytes:
        Device memory held when the recording began.
    collectives:
        Communication operators, on streams of their groups beside those of the operators.
    """

    operators: Operators
    allocations: Allocations = field(factory=Allocations.empty)
    begin_ns: int
    end_ns: int
    marks: tuple[HostMark, ...] = ()
    streams: tuple[tuple[int, int, int], ...] = ()
    live_before_bytes: int = 0
    graphs: tuple[GraphRun, ...] = ()
    collectives: tuple[Collective, ...] = ()
    tx_marks: tuple[TxMark, ...] = ()
    dataset: tuple[DatasetEvent, ...] = ()
    host_samples: HostSamples | None = None
    meeting: Meeting | None = None
    """Who tells how long the collectives wait for other ranks; None: their ``wait_ns`` does."""
    python_frames: PythonFrames | None = None
    memory_totals: npt.NDArray[np.int64] | None = None
    """
    Unix ns, bytes allocated and bytes reserved after each event of the framework's own pool, ``[n, 3]``: what is
    written of MindSpore where no ``allocations`` are known.
    """
    framework_events: FrameworkEvents | None = None
    """What the framework recorded of its own host side; written for MindSpore alone."""
    garbage_ns: tuple[tuple[int, int], ...] = ()
    """Start and end of every garbage collection to be shown, in time order."""
    calls: AclCalls | None = None
    """Calls that the script made into the vendor's library itself."""
    modelled: tuple[str, ...] = ()
    """What of it is no measurement but the adapter's model, named as the metadata shall name it."""

    def highest_thread(self, pid: int) -> int:
        """
        Return the highest thread id that occurs, at least *pid*; the next one is that of no thread in the recording.

        The operating system may have given that number to a thread that left no trace, or to another process: readers
        tell those apart by the pid.
        """
        used = [pid, *(mark.thread for mark in self.marks), *(thread for _, thread, _ in self.streams)]
        used += [collective.thread for collective in self.collectives]
        used += [thread for mark in self.tx_marks for thread in (mark.thread, mark.end_thread) if thread is not None]
        columns = [self.operators.thread, self.allocations.thread]
        columns += [] if self.calls is None else [self.calls.thread]
        columns += [] if self.framework_events is None else [self.framework_events.records["tid"].astype(np.int64)]
        return max(*used, *(int(column.max(initial=0)) for column in columns))
