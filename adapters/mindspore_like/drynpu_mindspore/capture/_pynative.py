"""
PyNative: the call of every launch, found by the forward graphs.

The launches of a step are compared with the calls of its forward graph once for every distinct graph. Where the same
launches come again in the same order (the steps of a training) the result is copied by index.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I32, I64, Bools
from drynpu.kernels import Signature
from drynpu_mindspore.capture._forward import ForwardCall
from drynpu_mindspore.capture._gradients import EXPLAINED, MATRIX_CALLS, as_launched, expected_gradients
from drynpu_mindspore.rules import NOTHING, signature

_REACH = 12
"""How many launches a call may come after the one before it: what a cell computes besides (casts, tiles)."""
_PLACES = 64
"""How many places are tried for a graph that has not been seen yet."""
_SILENT = NOTHING | {"Contiguous", "SelectView", "TransposeView"}


@frozen(eq=False)
class Explained:
    """
    The calls of launches as the forward graphs show them; columns of shape ``[n]``.

    ``call[i]`` is an index into ``signatures``, -1 for none; ``backward[i]`` is whether the launch lies between the
    forward pass of a step and its optimizer.
    """

    signatures: tuple[Signature, ...]
    call: I32
    backward: Bools


@define(eq=False)
class _Pattern:
    """The launches of one forward pass and their calls; the same for the backward pass, by what was launched in it."""

    codes: I32
    calls: I32
    backward: dict[bytes, I32] = field(factory=dict)


@define(eq=False)
class _Explainer:
    codes: I32
    kinds: tuple[str, ...]
    ends: I64
    """Rows at which a backward pass is over: launches of graphs, such as optimizers."""
    numbers: dict[Signature, int] = field(factory=dict)
    patterns: dict[tuple[ForwardCall, ...], _Pattern] = field(factory=dict)
    launched_as: dict[str, list[int]] = field(factory=dict)

    def run(self, graphs: Sequence[tuple[ForwardCall, ...]]) -> Explained:
        call = np.full(len(self.codes), -1, np.int32)
        backward = np.zeros(len(self.codes), bool)
        spans: list[tuple[int, int, tuple[ForwardCall, ...]]] = []
        at = 0
        for calls in graphs:
            row = self._forward(calls, at)
            if row < 0:
                continue
            pattern = self.patterns[calls]
            at = row + len(pattern.codes)
            call[row:at] = pattern.calls
            spans.append((row, at, calls))
        nexts = [*(begin for begin, _, _ in spans), len(self.codes)][1:]
        for (_, end, calls), after in zip(spans, nexts, strict=False):
            over = self._over(end, after)
            call[end:over] = self._backward(calls, self.codes[end:over])
            backward[end:over] = True
        return Explained(tuple(self.numbers), call, backward)

    def _over(self, begin: int, after: int) -> int:
        place = int(np.searchsorted(self.ends, begin))
        return min(after, int(self.ends[place])) if place < len(self.ends) else after

    def _number(self, call: Signature) -> int:
        return self.numbers.setdefault(call, len(self.numbers))

    def _forward(self, calls: tuple[ForwardCall, ...], at: int) -> int:
        """Return where the launches of *calls* begin, -1 if they are not there."""
        pattern = self.patterns.get(calls)
        if pattern is not None:
            first = _find(self.codes, pattern.codes, at)
            if first >= 0:
                return first
        rows = self._rows(calls, at)
        if not rows:
            return -1
        placed = [(row, call) for row, call in zip(rows, calls, strict=True) if row >= 0]
        begin, end = placed[0][0], placed[-1][0] + 1
        call_numbers = np.full(end - begin, -1, np.int32)
        for row, call in placed:
            launched = as_launched(call)
            kind = self.kinds[self.codes[row]]
            call_numbers[row - begin] = self._number(
                signature(kind, launched.inputs, launched.outputs, None, launched.arguments)
            )
        self.patterns[calls] = _Pattern(self.codes[begin:end], call_numbers)
        return begin

    def _rows(self, calls: tuple[ForwardCall, ...], at: int) -> list[int]:
        """
        Return the row of the launch of every call (-1: it launched nothing), or no rows if the calls are not found.

        Calls follow one another closely. So every place before the second optimizer from *at* on is tried as their
        begin, and the place wins from which most calls are found, in the fewest rows.
        """
        numbers = (self._numbers_of(call.primitive) for call in calls if call.primitive not in _SILENT)
        launching = [kinds for kinds in numbers if kinds]
        first = launching[0] if launching else []
        tightest = len(calls) - len(launching), len(launching) - 1
        places = at + np.flatnonzero(np.isin(self.codes[at : self._limit(at)], first))
        best: list[int] = []
        for place in places[:_PLACES].tolist():
            rows = self._from(calls, place)
            if rows and (not best or _looseness(rows) < _looseness(best)):
                best = rows
            if best and _looseness(best) == tightest:
                break
        return best

    def _limit(self, at: int) -> int:
        """Return where the second stretch of rows that are in no pass begins."""
        ends = self.ends[np.searchsorted(self.ends, at) :]
        begins = ends[np.flatnonzero(np.diff(ends, prepend=-2) > 1)]
        return int(begins[1]) if len(begins) > 1 else len(self.codes)

    def _from(self, calls: tuple[ForwardCall, ...], at: int) -> list[int]:
        """Return the rows of calls that begin at *at*; nothing if a product is not found."""
        rows = []
        for call in calls:
            row = -1 if call.primitive in _SILENT else self._next(call.primitive, at)
            if row < 0 and call.primitive in MATRIX_CALLS:
                return []
            at = max(at, row + 1)
            rows.append(row)
        return rows

    def _numbers_of(self, primitive: str) -> list[int]:
        if primitive not in self.launched_as:
            wanted = {*MATRIX_CALLS.get(primitive, ()), primitive}
            self.launched_as[primitive] = [number for number, kind in enumerate(self.kinds) if kind in wanted]
        return self.launched_as[primitive]

    def _next(self, primitive: str, at: int) -> int:
        rows = np.flatnonzero(np.isin(self.codes[at : at + _REACH], self._numbers_of(primitive)))
        return at + int(rows[0]) if len(rows) else -1

    def _backward(self, calls: tuple[ForwardCall, ...], codes: I32) -> I32:
        known = self.patterns[calls].backward
        key = codes.tobytes()
        if key not in known:
            call_numbers = np.full(len(codes), -1, np.int32)
            for kernel in EXPLAINED:
                rows = np.flatnonzero(codes == (self.kinds.index(kernel) if kernel in self.kinds else -1))
                gradients = expected_gradients(calls, kernel, len(rows)) if len(rows) else None
                call_numbers[rows if gradients is not None else []] = [self._number(call) for call in gradients or ()]
            known[key] = call_numbers
        return known[key]


def _looseness(rows: Sequence[int]) -> tuple[int, int]:
    """Return how many calls have no row, and over how many rows the others stretch."""
    launched = [row for row in rows if row >= 0]
    return len(rows) - len(launched), launched[-1] - launched[0]


def _find(codes: I32, pattern: I32, at: int) -> int:
    """Return the first row from *at* on where *pattern* stands, -1 if nowhere."""
    row_bytes, pattern_bytes, width = codes.tobytes(), pattern.tobytes(), codes.itemsize
    place = row_bytes.find(pattern_bytes, at * width)
    while place >= 0 and place % width:
        place = row_bytes.find(pattern_bytes, place + 1)
    return place // width if place >= 0 else -1


def explain(codes: I32, kinds: Sequence[str], ends: I64, graphs: Sequence[tuple[ForwardCall, ...]]) -> Explained:
    """
    Explain launches by the forward graphs that were saved while they ran.

    Parameters
    ----------
    codes:
        Per launch its kernel, an index into *kinds*.
    ends:
        Rows, in order, that belong to no forward or backward pass.
    graphs:
        In the order of the steps.
    """
    return _Explainer(np.ascontiguousarray(codes, np.int32), tuple(kinds), ends).run(graphs)
