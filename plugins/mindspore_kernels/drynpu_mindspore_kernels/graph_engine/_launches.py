"""The launches of a recording as launches of compiled graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, evolve, field

from drynpu.arrays import I64, Bools
from drynpu.kernels import Operators, Placement, Signature
from drynpu.simulate import FusionOp
from drynpu_mindspore.capture import GraphRuns, KernelGraph, input_texts
from drynpu_mindspore.recording import SunkLaunches
from drynpu_mindspore.rules import NOTHING
from drynpu_mindspore_kernels.graph_engine._compile import CompiledGraph, compile_graph

_OUTSIDE = "at jit level O2 launches outside of saved graphs are shown kernel by kernel, as at O0: {}"


@define
class WholeGraphs:
    """
    The graphs that the engine has compiled; each once for every set of calls that its nodes make.

    *split* says whether the chip has cube and vector cores apart.
    """

    split: bool
    _compiled: dict[tuple[int, tuple[Signature | None, ...]], CompiledGraph] = field(factory=dict)

    def sink(self, graphs: Sequence[KernelGraph], runs: GraphRuns, operators: Operators) -> SunkLaunches:
        """
        Return the launches among *operators* as launches of the compiled *graphs*, whose *runs* are known.

        A node that was fused away launches nothing; the fused kernel stands where the last of its nodes ran. Runs
        that lack nodes (one that failed, or that the recording cut) and launches of no known graph stay as they are.
        """
        calls = list(operators.signatures)
        numbers = {call: number for number, call in enumerate(calls)}
        signature, placed = operators.signature.copy(), np.zeros(len(operators), bool)
        fusions: dict[int, dict[FusionOp, None]] = {}
        for number, rows in runs.items():
            nodes = np.flatnonzero((rows >= 0).any(axis=0))
            whole = rows[(rows[:, nodes] >= 0).all(axis=1)][:, nodes]
            variants, of_run = np.unique(operators.signature[whole], axis=0, return_inverse=True)
            for variant, called in enumerate(variants):
                launched = {int(node): operators.signatures[call] for node, call in zip(nodes, called, strict=True)}
                compiled = self._compile(number, graphs[number], launched)
                fusions.setdefault(number, {}).update(dict.fromkeys(compiled.fusions))
                chosen = whole[of_run.reshape(-1) == variant]
                for column, (node, launch) in enumerate(launched.items()):
                    call = compiled.calls.get(node) or _silent(launch)
                    signature[chosen[:, column]] = numbers.setdefault(call, len(numbers))
                placed[chosen] = True
        calls += list(numbers)[len(calls) :]
        texts = (*operators.texts, *(input_texts(call) for call in calls[len(operators.texts) :]))
        sunk = evolve(operators, signature=signature, signatures=tuple(calls), texts=texts)
        return SunkLaunches(sunk, {graph: tuple(fused) for graph, fused in fusions.items()}, _notes(operators, placed))

    def _compile(self, number: int, graph: KernelGraph, launched: Mapping[int, Signature]) -> CompiledGraph:
        key = (number, tuple(launched.get(place) for place in range(len(graph.nodes))))
        if key not in self._compiled:
            self._compiled[key] = compile_graph(graph, launched, split=self.split)
        return self._compiled[key]


def _silent(launch: Signature) -> Signature:
    """Return the call of a node whose work another one does."""
    return evolve(launch, placement=Placement.HOST)


def _notes(operators: Operators, placed: Bools) -> tuple[str, ...]:
    launching = np.array([*(call.name not in NOTHING for call in operators.signatures), False])
    outside: I64 = np.flatnonzero(launching[operators.signature] & ~placed)
    counts = Counter(operators.signatures[call].name for call in operators.signature[outside].tolist())
    if not counts:
        return ()
    return (_OUTSIDE.format(", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))),)
