"""
What the host hands to the device, when it happens, and what the host pays for it.

Host costs are medians of device_and_cost_model.md 3.6 (A2 host), rounded as printed there.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64, Bools


@frozen(kw_only=True)
class HostCosts:
    """
    Host time per dispatch and between dispatches, in ns.

    On the calling thread an operator pays ``operator_ns`` (Python binding and dispatcher), ``workspace_ns``
    (``aclnnXGetWorkspaceSize``) and ``enqueue_ns``. The launching thread pays ``dequeue_ns`` per dispatch around
    one ACL call, which is ``api_ns`` plus ``node_ns`` per kernel; ``runtime_ns`` of a node launch is the runtime.
    A call of the single-op path looks its operator up by compiling it, which takes ``compile_ns`` more.
    A graph is launched as a whole: the launching thread pays ``node_ns`` for its first kernel and ``graph_node_ns`` for
    each further one.

    On the clock ``modelled`` an operator that launches pays ``modelled_operator_ns`` in place of ``operator_ns``, a
    call of the script ``call_ns`` (Python) in addition, and an operator that launches nothing (a view, a node of the
    backward graph) ``nested_ns``.
    """

    operator_ns: int = 2_000
    """Not stated in the reference: the cost of an operator that launches nothing, as measured on CPU builds."""
    workspace_ns: int = 12_000
    enqueue_ns: int = 3_100
    dequeue_ns: int = 8_400
    """17.4 us per dequeue of a single kernel, less the 9 us of the ACL call inside it."""
    api_ns: int = 2_200
    """9 us for an ACL call of a single kernel, less its 6.8 us node launch."""
    compile_ns: int = 900_000
    """``aclopCompileAndExecute`` takes near 0.9 ms; the launches inside it are small against that."""
    node_ns: int = 6_800
    runtime_ns: int = 3_200
    graph_node_ns: int = 100
    """No cost of the host, which launches a graph by one call: room for a node's records, shorter than any kernel."""
    synchronize_ns: int = 8_000
    """A synchronising call on an idle stream (``aten::item``, device_and_cost_model.md 3.6)."""
    call_ns: int = 10_000
    """Assumed: twice what a call of torch takes on a desktop CPU. No measurement without stacks is at hand."""
    stack_ns: int = 7_200
    frame_ns: int = 8_000
    """
    What recording costs on the clock ``modelled``: each call in the stack that is kept of an operator, and a Python
    function that is recorded. Fitted to the 100 intervals under 5 ms between entries into the queue of the main threads
    of two genuine ranks with stacks and modules: the median interval is 6 % off, their sum 1 %. Fitted to the operators
    inside modules alone, whose stacks are 22 calls deep, the others (9 to 14 deep) are 7 % off, and the other way round
    6 %.
    """
    nested_ns: int = 10_500
    modelled_operator_ns: int = 28_000
    """
    Fitted, with ``nested_ns``, to the intervals between entries into the queue of four genuine backward threads (host
    of 910B2, shapes and memory recorded): 43 us per launch with workspace and entry, 10.5 us per operator beside it.
    """


class LaunchMode(enum.Enum):
    """
    Which thread launches what the script's threads call (torch_npu's TASK_QUEUE_ENABLE and ASCEND_LAUNCH_BLOCKING).

    ``QUEUE``: a second thread, which takes the calls from a queue; ``QUEUE_WITH_WORKSPACE``: it also asks for their
    workspaces. ``CALLER``: the calling thread itself, without a queue; ``CALLER_WAITS``: it waits for the stream after
    each launch, too.
    """

    CALLER_WAITS = "caller, waits"
    CALLER = "caller"
    QUEUE = "queue"
    QUEUE_WITH_WORKSPACE = "queue, with workspace"

    @property
    def queued(self) -> bool:
        """Whether a second thread launches."""
        return self in (LaunchMode.QUEUE, LaunchMode.QUEUE_WITH_WORKSPACE)


class DispatchKind(enum.IntEnum):
    """What a dispatch does besides launching."""

    LAUNCH = 0
    WAIT_DEVICE = 1
    """The host waits until every stream has drained."""
    WAIT_STREAM = 2
    PAUSE = 3
    """The profiler's own work: takes no time on the projected clock."""
    RECORD_EVENT = 4
    WAIT_EVENT = 5
    """Later work of the stream starts after the event."""
    SYNCHRONIZE_EVENT = 6
    """The host waits for what was on the event's stream when it was recorded."""
    DRAIN_QUEUE = 7
    """The host waits until all is launched that it handed over; not for the device."""


@frozen(eq=False, kw_only=True)
class Dispatches:
    """
    What the host hands to the device, shape ``[n]``, in host order; measured intervals are disjoint and sorted.

    ``kind`` holds values of `DispatchKind`, ``launches`` the number of kernels that each dispatch launches.
    """

    start_ns: I64
    end_ns: I64
    kind: I64
    launches: I64
    workspace: Bools
    """Whether the call asks for its workspace size first (aclnn operators do, copies do not)."""
    stream: I64
    event: I64
    thread: I64
    compiles: Bools = field()
    """Whether the call compiles its operator (calls of the single-op path do)."""
    in_graph: Bools = field()
    """Whether it is a part of a graph that is launched as a whole, without a call or a queue for each node."""

    @compiles.default
    @in_graph.default
    def _none(self) -> Bools:
        return np.zeros(len(self.start_ns), bool)


@frozen(eq=False, kw_only=True)
class Launches:
    """
    Kernels in host order, grouped by dispatch, shape ``[m]``.

    ``node_ns`` is what the host takes to launch each; None: the cost of one kernel for all. ``gap_ticks`` is the least
    distance between the end of the kernel before on its stream and the start of each, ``tail_ticks`` is how long the
    stream stays busy after each; None: none.
    ``rendezvous``, where given, is called for every launch of ``meets`` as soon as its start is known, with the number
    of the launch and its start in ticks; it returns how many ticks the launch waits for other ranks.
    """

    stream: I64
    duration_ticks: I64
    node_ns: I64 | None = None
    gap_ticks: I64 | None = None
    tail_ticks: I64 | None = None
    meets: Bools | None = None
    rendezvous: Callable[[int, int], int] | None = None


@frozen(eq=False, kw_only=True)
class StreamTimes:
    """Times of dispatches (``[n]``) and launches (``[m]``) in ns of Unix time; kernels in ticks after *base_ns*."""

    start_ns: I64
    end_ns: I64
    workspace_start_ns: I64
    workspace_end_ns: I64
    enqueue_start_ns: I64
    enqueue_end_ns: I64
    dequeue_start_ns: I64
    dequeue_end_ns: I64
    api_start_ns: I64
    api_end_ns: I64
    wait_ns: I64
    """How long a synchronising dispatch waited for the device."""
    event_ns: I64
    """When the device reaches the record of an event; 0 for other dispatches."""
    node_start_ns: I64
    node_end_ns: I64
    runtime_start_ns: I64
    runtime_end_ns: I64
    kernel_start_ticks: I64
    rendezvous_ticks: I64
    """How long each launch waited for other ranks, which is added to its duration."""
