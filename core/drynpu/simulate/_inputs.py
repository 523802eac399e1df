"""Parts of a recording besides operators. Times are measured host times (Unix ns)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from attrs import frozen

from drynpu.device import DispatchKind
from drynpu.kernels import NO_DATA, TensorDesc
from drynpu.layouts.marks import MarkKind

DEFAULT_STREAM = 2
"""Stream of work that names none, as in real profiles."""


@frozen
class HostCall:
    """
    Something the host did besides operators: a wait, an event, a pause of the profiler, which ends at ``until_ns``.

    ``stream`` is the stream that it waits for or on which the ``event`` is recorded or waited for. With ``in_graph`` it
    is a part of a compiled graph, in which the device waits by itself.
    """

    time_ns: int
    thread: int
    kind: DispatchKind
    stream: int = DEFAULT_STREAM
    event: int = 0
    until_ns: int = 0
    in_graph: bool = False


@frozen(kw_only=True)
class Iteration:
    """One iteration of a graph; ``index`` counts from 1. Kernels launched inside it belong to it."""

    index: int
    start_ns: int
    end_ns: int


@frozen(kw_only=True)
class FusionOp:
    """An operator that the graph engine made of several; sizes in bytes."""

    name: str
    original_ops: tuple[str, ...]
    input_bytes: int = 0
    output_bytes: int = 0
    weight_bytes: int = 0
    workspace_bytes: int = 0

    @classmethod
    def from_tensors(
        cls,
        name: str,
        original_ops: tuple[str, ...],
        inputs: Sequence[TensorDesc | tuple[TensorDesc, ...] | None],
        outputs: Iterable[TensorDesc],
        weights: Collection[int] = (),
    ) -> FusionOp:
        """Return it with the sizes of its tensors; the *inputs* at the places *weights* are known to the compiler."""
        sizes = [_bytes_of(tensor) for tensor in inputs]
        weight_bytes = sum(size for place, size in enumerate(sizes) if place in weights)
        return cls(
            name=name,
            original_ops=original_ops,
            input_bytes=sum(sizes) - weight_bytes,
            output_bytes=sum(map(_bytes_of, outputs)),
            weight_bytes=weight_bytes,
        )


def _bytes_of(tensor: TensorDesc | tuple[TensorDesc, ...] | None) -> int:
    """Return the size of one tensor that holds numbers, 0 for anything else."""
    return tensor.size_bytes if isinstance(tensor, TensorDesc) and tensor.dtype != NO_DATA else 0


@frozen(kw_only=True)
class StaticMemory:
    """Memory that the graph planned for one operator, alive from one node to another (``None``: to the end)."""

    op_name: str
    size_bytes: int
    first_node: int
    last_node: int | None


@frozen(kw_only=True)
class GraphPoints:
    """
    Where a graph engine marks a graph for the iteration trace (cann_msprof.md 5.1).

    ``forward`` and ``backward`` name operators: the forward part begins with the first of those that run, the backward
    part ends with the last. Without any there is no such point, and without a backward one no forward one either. A
    graph that is not ``marked`` has no iterations in the trace.
    """

    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    marked: bool = True


@frozen(kw_only=True)
class GraphRun:
    """
    A graph of the device and its iterations.

    ``points`` come from its compiler; None: they follow from which operators compute gradients. ``load`` is when
    the graph was loaded, from and to in measured Unix ns; None: before the recording. ``streams`` is empty for a graph
    that a compiler made. For a graph that was captured from streams (``NPUGraph``) it says on which stream the
    graph runs what was captured on which stream of the script; ``load`` is the capture.
    """

    model_id: int
    model_name: str
    graph_id: int = 0
    iterations: tuple[Iteration, ...] = ()
    load: tuple[int, int] | None = None
    streams: tuple[tuple[int, int], ...] = ()
    points: GraphPoints | None = None
    fusions: tuple[FusionOp, ...] = ()
    static_memory: tuple[StaticMemory, ...] = ()

    @property
    def is_captured(self) -> bool:
        """Whether it was captured from streams, so that the runtime holds it and no graph engine does."""
        return bool(self.streams)


@frozen(kw_only=True)
class Collective:
    """
    One communication operator issued by this rank.

    Attributes
    ----------
    kind:
        The HCCL operator (``drynpu.device.collectives.KINDS``): ``allReduce``, ``allGather``, ``send``, ...
    start_ns, end_ns:
        The measured call; ``end_ns`` None: nothing of the host timeline belongs to it. On the projected clock what
        lies between is replaced by the cost of a dispatch, so no operator that launches may lie in it.
    group:
        Name of the communication group, the same on all its ranks; shown as its 64-bit id, as the vendor does.
    ranks, rank:
        Global ranks of the group in order of group rank; then this device's.
    size_bytes, peer:
        As in ``drynpu.device.collectives.CollectiveRequest``.
    dtype, count:
        GE name of the data type (``FLOAT``, ``DT_BF16``), number of elements.
    algorithm:
        Shown instead of the algorithm that the model takes; ``""`` leaves it.
    stream:
        The stream it was issued on, whose earlier work it waits for; None: the thread's current stream.
    wait_ns:
        How much later than this rank the slowest one arrived; without effect where the recording has a `Rendezvous`.
    blocking:
        Whether later work of that stream waits for it.
    event:
        A number under which a later ``WAIT_EVENT`` or ``SYNCHRONIZE_EVENT`` call waits for it; None: none.
    mark:
        Message of a range around it while marks are recorded, in the domain ``communication``; ``{stream_id}``
        stands for the stream it runs on. Empty for none.
    in_graph:
        Whether it is a node of a compiled graph, which the device takes without a launch of the host's.
    """

    kind: str
    start_ns: int
    thread: int
    group: str
    ranks: tuple[int, ...]
    rank: int
    size_bytes: int
    dtype: str
    count: int
    peer: int | None = None
    algorithm: str = ""
    stream: int | None = None
    wait_ns: int = 0
    blocking: bool = True
    event: int | None = None
    end_ns: int | None = None
    mark: str = ""
    in_graph: bool = False


class Rendezvous(Protocol):
    """Tells a rank, while it is being simulated, when the other ranks reach the collectives that they share."""

    def __call__(self, index: int, start_ns: int) -> int:
        """
        Return when the slowest rank reached a collective, Unix ns of the simulated timeline.

        It is called once per collective, in the order in which the host issued them.

        Parameters
        ----------
        index:
            Number of the collective in the recording, in order of starts.
        start_ns:
            When this rank's device reached it.
        """


@frozen(kw_only=True)
class Mark:
    """
    A point or a range that the script marks; one with a stream is seen on the device as well.

    ``extended`` marks are recorded with an id and their domain whatever that is, as the mstx library records all of
    its marks; ``end_thread`` is the thread that ended a range, ``None`` for the one that began it.
    """

    kind: MarkKind
    message: str
    start_ns: int
    end_ns: int
    thread: int
    domain: str = "default"
    category: int = 0
    payload_type: int = 0
    payload: int = 0
    message_type: int = 0
    stream: int | None = None
    end_thread: int | None = None
    extended: bool = False


@frozen(kw_only=True)
class DatasetEvent:
    """
    One event of the data preprocessing queue: what happened (``action``), where, and how much was buffered.

    ``buffered`` is the number of elements, ``None`` where nobody counted them. ``duration_ns`` is how long taking the
    data lasted, where that is known: the get-next of an iteration.
    """

    time_ns: int
    action: str
    source: str
    buffered: int | None = None
    duration_ns: int = 0
