"""Communication operators of graphs: what was a call of this process is an operator of the device."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu.device import DispatchKind
from drynpu.kernels import NO_DATA, NodeCall, Operators, Signature, TensorDesc
from drynpu.recorder import RankCall
from drynpu.simulate import Collective, HostCall
from drynpu_tf.ranks import NODE_TYPES, Hcom, hcom_of, rank_number

_COUNTED = ("alltoallv", "alltoallvc")
"""Operators whose last input says how much goes to each rank."""


@frozen
class Issued:
    """One communication operator of a recording, and what the other ranks are told of it."""

    collective: Collective
    call: RankCall


@frozen(eq=False)
class Communicated:
    """A run of a graph: its kernels, its communication, and where kernels wait for that."""

    kernels: Operators
    issued: tuple[Issued, ...] = ()
    waits: tuple[HostCall, ...] = ()


@define(eq=False)
class Communication:
    """
    Takes the communication out of runs of graphs.

    A run goes on while its communication is under way: only what takes the result waits for it, and the end of the run.
    ``left_out`` counts operators whose sizes are not known, by type.
    """

    left_out: Counter[str] = field(factory=Counter)
    _events: int = 0
    _known: dict[int, dict[int, Hcom]] = field(factory=dict)

    def hcoms(self, signatures: Sequence[Signature]) -> Mapping[int, Hcom]:
        """Return the communication operators among *signatures* by number."""
        hcoms = self._known.get(id(signatures))
        if hcoms is None:
            pairs = ((number, hcom_of(NodeCall(each).attrs)) for number, each in communicating(signatures))
            hcoms = self._known[id(signatures)] = {number: hcom for number, hcom in pairs if hcom is not None}
        return hcoms

    def take(
        self, operators: Operators, thread: int, end_ns: int, consumers: Mapping[str, frozenset[str]]
    ) -> Communicated:
        """Return the kernels of a run that ends at *end_ns*, apart from its communication."""
        hcoms = self.hcoms(operators.signatures)
        mask = np.isin(operators.signature, list(hcoms))
        if not mask.any():
            return Communicated(operators)
        rank, issued, waits = rank_number(os.environ), [], []
        for row, later_ns in _in_order(operators, np.flatnonzero(mask).tolist(), list(consumers)):
            number = int(operators.signature[row])
            signature, hcom = operators.signatures[number], hcoms[number]
            tensors = _moved(signature, hcom)
            if not tensors:
                self.left_out[signature.name] += 1
                continue
            self._events += 1
            start_ns, until_ns = (int(each[row]) + later_ns for each in (operators.start_ns, operators.end_ns))
            collective = Collective(
                kind=hcom.kind,
                start_ns=start_ns,
                # Its event is recorded as it ends, which has to come before the wait for it.
                end_ns=until_ns - 1,
                thread=thread,
                group=hcom.group,
                ranks=hcom.ranks,
                rank=rank,
                size_bytes=sum(tensor.size_bytes for tensor in tensors),
                dtype=tensors[0].dtype,
                count=sum(tensor.elements for tensor in tensors),
                peer=hcom.peer,
                blocking=False,
                event=self._events,
                in_graph=True,
            )
            issued.append(Issued(collective, hcom.call(rank)))
            takers = consumers.get(operators.names[int(operators.name[row])], frozenset())
            time_ns = max(_first_start(operators, row, takers, end_ns), until_ns)
            waits.append(HostCall(time_ns, thread, DispatchKind.WAIT_EVENT, event=self._events, in_graph=True))
        return Communicated(operators.select(np.flatnonzero(~mask)), tuple(issued), tuple(waits))


def communicating(signatures: Sequence[Signature]) -> list[tuple[int, Signature]]:
    """Return the calls that communicate, with their numbers."""
    return [(number, each) for number, each in enumerate(signatures) if each.name in NODE_TYPES]


def _in_order(operators: Operators, rows: Sequence[int], names: Sequence[str]) -> list[tuple[int, int]]:
    """
    Return *rows* in the order of the compiled graph, of which *names* has the operators, and how much later each is.

    TensorFlow begins what is ready, on each rank in an order of its own. A group's operators have one order on all
    ranks. So one that began too late is moved before the one that comes after it, which never puts it behind what takes
    its result; it may stand before the last kernels of its own inputs then.
    """
    place = {name: number for number, name in enumerate(names)}
    turns: Counter[str] = Counter()
    keys = []
    for row in rows:
        name = operators.names[int(operators.name[row])]
        turns[name] += 1
        keys.append((turns[name], place.get(name, len(place)), row))
    delays, next_ns = [], None
    for _, _, row in sorted(keys, reverse=True):
        own_ns = int(operators.start_ns[row])
        next_ns = own_ns if next_ns is None else min(own_ns, next_ns - 1)
        delays.append((row, next_ns - own_ns))
    return delays[::-1]


def _moved(signature: Signature, hcom: Hcom) -> list[TensorDesc]:
    """Return the tensors that a communication operator moves; none where one of them is not known."""
    tensors = list(signature.tensors())
    if hcom.kind in _COUNTED:
        tensors = tensors[:-1]
    return [] if any(tensor.dtype == NO_DATA for tensor in tensors) else tensors


def _first_start(operators: Operators, row: int, names: frozenset[str], end_ns: int) -> int:
    """Return when the first operator of those *names* after *row* begins, *end_ns* where none does."""
    for later in range(row + 1, len(operators)):
        if operators.names[int(operators.name[later])] in names:
            return int(operators.start_ns[later])
    return end_ns
