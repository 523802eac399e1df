"""
One timeline of what was captured.

The graph engine hands a whole graph to the device. So of a graph's nodes only those that launch something are left,
each lasting until the next one: what TensorFlow's executor did between them on this CPU did not happen beside an NPU.
Graphs that ran at the same time run one after another, as on a device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from drynpu.device import Mark
from drynpu.kernels import KernelPlan, Operators, Signature, concatenate
from drynpu.session import FusionOp, GraphRun, HostMark, Iteration

__all__ = ["Part", "Step", "Timeline", "join"]

I64 = npt.NDArray[np.int64]


@frozen(kw_only=True)
class Step:
    """
    One run of a graph on the device: the graph's name, and when the call of it began and returned (Unix ns).

    ``fusions`` are the operators that the graph engine makes of several; the first run of a graph tells them.
    """

    graph: str
    start_ns: int
    end_ns: int
    thread: int
    fusions: tuple[FusionOp, ...] = ()


@frozen(eq=False)
class Part:
    """Operators as they were captured together; without a step they were launched one by one."""

    operators: Operators
    step: Step | None


@frozen(eq=False)
class Timeline:
    """All operators, the graphs with their iterations, and where the host waited for the device."""

    operators: Operators
    graphs: tuple[GraphRun, ...]
    marks: tuple[HostMark, ...]


def join(parts: Sequence[Part], plan: Callable[[Signature], KernelPlan]) -> Timeline:
    """Put parts on one timeline; *plan* says what launches."""
    launches = _Launches(plan)
    placed: list[Operators] = [part.operators for part in parts if part.step is None]
    iterations: dict[str, list[Iteration]] = {}
    fusions: dict[str, tuple[FusionOp, ...]] = {}
    marks: list[HostMark] = []
    free_ns = 0
    graphs = [(part.operators, part.step) for part in parts if part.step is not None]
    for operators, step in sorted(graphs, key=lambda pair: pair[1].start_ns):
        rows = np.flatnonzero(launches.of(operators))
        if not len(rows):
            continue
        own = _placed(operators, rows, step, free_ns)
        begin_ns, free_ns = max(step.start_ns, free_ns), max(step.end_ns, int(own.end_ns[-1]))
        placed.append(own)
        fusions.setdefault(step.graph, step.fusions)
        of_graph = iterations.setdefault(step.graph, [])
        of_graph.append(Iteration(index=len(of_graph) + 1, start_ns=begin_ns, end_ns=free_ns))
        # A run returns when the device has finished the graph.
        marks.append(HostMark(free_ns, step.thread, Mark.WAIT_STREAM))
    return Timeline(
        operators=concatenate(placed),
        graphs=tuple(
            GraphRun(
                model_id=number,
                graph_id=number,
                model_name=name,
                iterations=tuple(of_graph),
                fusions=fusions[name],
            )
            for number, (name, of_graph) in enumerate(iterations.items(), start=1)
        ),
        marks=tuple(marks),
    )


class _Launches:
    """Which rows launch something; every tuple of signatures is asked once."""

    def __init__(self, plan: Callable[[Signature], KernelPlan]) -> None:
        self._plan = plan
        self._known: dict[int, npt.NDArray[np.bool_]] = {}

    def of(self, operators: Operators) -> npt.NDArray[np.bool_]:
        signatures = operators.signatures
        known = self._known.get(id(signatures))
        if known is None:
            # The last entry is for rows without a signature.
            known = np.array([*(bool(self._plan(signature).kernels) for signature in signatures), False])
            self._known[id(signatures)] = known
        return np.asarray(known[operators.signature], bool)


def _placed(operators: Operators, rows: I64, step: Step, free_ns: int) -> Operators:
    """Return *rows* one after another, from *free_ns* on at the earliest."""
    turn = np.arange(len(rows))
    start = np.maximum.accumulate(np.maximum(operators.start_ns[rows], free_ns) - turn) + turn
    end = np.append(start[1:], max(int(operators.end_ns[rows[-1]]), int(start[-1]) + 1))
    return evolve(
        operators,
        name=operators.name[rows],
        start_ns=start,
        end_ns=end,
        thread=np.full(len(rows), step.thread, np.int64),
        fwd_thread=operators.fwd_thread[rows],
        sequence=operators.sequence[rows],
        scope=operators.scope[rows],
        signature=operators.signature[rows],
        stack=operators.stack[rows],
    )
