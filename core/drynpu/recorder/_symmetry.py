"""
Ranks that do not run, modelled by symmetry: they do what the rank that runs does, some a little later.

Between two collectives every rank takes what the running rank takes, times a jitter of its own and the factor of a
straggler. In a collective the ranks of a group wait for their last. The groups of other ranks lie in the world like the
groups of this one do, moved by so many ranks, so a straggler is felt through several groups as well. On a stated
topology such a group may have other links (it crosses nodes, or has a slow one): its ranks are later by what it takes
longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from attrs import define, field

from drynpu.arrays import F64
from drynpu.device.collectives import CollectiveRequest, collective_us
from drynpu.platforms import Chip
from drynpu.recorder._rendezvous import RankCall


@define(eq=False, kw_only=True)
class SymmetricPeers:
    """
    The other ranks of a job of ``size`` ranks, of which ``rank`` runs (`AbsentRanks`).

    ``jitter`` is the standard deviation of the logarithm of a rank's times between collectives; the same ``seed`` gives
    the same, whichever rank runs. ``straggler`` is a rank and its factor. ``chip``: has the links of the cluster; None:
    groups of other ranks take as long as this rank's.
    """

    size: int
    rank: int
    jitter: float = 0.0
    straggler: tuple[int, float] | None = None
    seed: int = 0
    chip: Chip | None = None
    _slower_ns: dict[tuple[str, int, tuple[int, ...]], F64] = field(factory=dict, init=False)
    """By kind, size and ranks of a collective: how much longer than it the same takes in groups of other ranks."""
    _late_ns: F64 = field(init=False)
    """How much later than without jitter and straggler each rank is, shape ``[size]``."""
    _last_ns: int | None = None
    _calls: int = 0

    def __attrs_post_init__(self) -> None:
        self._late_ns = np.zeros(self.size)

    def slowest_ns(self, call: RankCall, start_ns: int, slowest_ns: int) -> int:
        """Return when the slowest rank reached a collective (Unix ns); see `AbsentRanks`."""
        self._pass(start_ns)
        before = self._late_ns[self.rank]
        if call.messages:
            for sender, receiver, _ in call.messages:
                if receiver == self.rank:
                    self._receive(receiver - sender)
        else:
            self._meet(call)
        waited = self._late_ns[self.rank] - before
        slowest_ns = max(slowest_ns, start_ns + round(float(waited)))
        self._last_ns = max(slowest_ns, self._last_ns or slowest_ns)
        return slowest_ns

    def note(self) -> str:
        """Return what a profile has to say of them."""
        parts = [f"jitter {self.jitter:g}"]
        if self.straggler is not None:
            parts.append("rank {} takes {:g} times as long".format(*self.straggler))
        return (
            f"waits for ranks that did not run are modelled: they are like rank {self.rank} ({', '.join(parts)}); "
            "their messages are there as soon as they are received"
        )

    def _pass(self, start_ns: int) -> None:
        """Let the time until the next collective pass on all ranks."""
        self._calls += 1
        elapsed = 0 if self._last_ns is None else max(0, start_ns - self._last_ns)
        factors = np.ones(self.size)
        if self.jitter:
            draws = np.random.default_rng([self.seed, self._calls]).standard_normal(self.size)
            factors *= np.exp(self.jitter * draws)
        if self.straggler is not None:
            factors[self.straggler[0]] *= self.straggler[1]
        self._late_ns += elapsed * (factors - 1)

    def _meet(self, call: RankCall) -> None:
        """Let the ranks of every group like the group of *call* wait for their last."""
        ranks, stride = call.ranks, _stride(call.ranks)
        block = stride * len(ranks)
        if not stride or self.size % block or ranks[0] % block >= stride:
            # No lattice: only this group is known.
            self._late_ns[list(ranks)] = self._late_ns[list(ranks)].max()
            return
        groups = self._late_ns.reshape(-1, len(ranks), stride)
        groups[:] = groups.max(axis=1, keepdims=True)
        if self.chip is not None and len(ranks) > 1:
            # What this rank's group takes passes on its own clock; others differ by what follows.
            groups += self._slower(call, self.chip).reshape(-1, 1, stride)

    def _slower(self, call: RankCall, chip: Chip) -> F64:
        """Return how much longer each group like the group of *call* takes, ns, in order of their first ranks."""
        key = (call.kind, call.size_bytes, call.ranks)
        if key not in self._slower_ns:
            count, stride = len(call.ranks), _stride(call.ranks)
            every = np.arange(self.size).reshape(-1, count, stride).transpose(0, 2, 1).reshape(-1, count)

            def spent_us(ranks: tuple[int, ...]) -> float:
                request = CollectiveRequest(kind=call.kind, size_bytes=call.size_bytes, ranks=ranks, rank=ranks[0])
                return collective_us(request, chip)

            spent = np.array([spent_us(tuple(ranks)) for ranks in every.tolist()])
            self._slower_ns[key] = (spent - spent_us(call.ranks)) * 1000
        return self._slower_ns[key]

    def _receive(self, distance: int) -> None:
        """Let every rank wait for the message of the one that is *distance* ranks before it."""
        receivers = np.arange(max(distance, 0), self.size + min(distance, 0))
        sent = self._late_ns[receivers - distance]
        self._late_ns[receivers] = np.maximum(self._late_ns[receivers], sent)


def _stride(ranks: Sequence[int]) -> int:
    """Return the distance of neighbours in a group, 0 if it is not always the same."""
    steps = {later - earlier for earlier, later in itertools.pairwise(ranks)}
    if not steps:
        return 1
    step = steps.pop()
    return 0 if steps or step < 1 else step
