"""What a graph engine makes of the launches of a recording; the plugin ``mindspore_kernels`` has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from attrs import field, frozen

from drynpu.kernels import Operators
from drynpu.simulate import FusionOp
from drynpu_mindspore.capture import GraphRuns, KernelGraph


@frozen(eq=False)
class SunkLaunches:
    """
    The launches of a recording with the calls of the compiled graphs.

    ``fusions`` are the operators of each graph that stand for several nodes, by the place of the graph; ``notes`` are
    readable lines on what is not part of a compiled graph.
    """

    operators: Operators
    fusions: Mapping[int, tuple[FusionOp, ...]] = field(factory=dict)
    notes: tuple[str, ...] = ()


class GraphEngine(Protocol):
    """The graphs that an engine has compiled, for as long as one recording."""

    def sink(self, graphs: Sequence[KernelGraph], runs: GraphRuns, operators: Operators) -> SunkLaunches:
        """Return the launches among *operators* as launches of the compiled *graphs*, whose *runs* are known."""


KERNELS = "mindspore_kernels"
"""The bundled plugin that has an engine."""
NewGraphEngine: TypeAlias = Callable[[bool], GraphEngine]
"""Makes the engine of a recording, of a chip that has cube and vector cores apart or not."""
