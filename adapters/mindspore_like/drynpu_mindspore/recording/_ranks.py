"""The other ranks of a job: their groups, and when their devices reached the collectives of a recording."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field

from drynpu import CommandError
from drynpu.device.collectives import WORLD_GROUP
from drynpu.recorder import RankCall, RankLink, RankRendezvous, announce

WORLD_NAMES: Final = frozenset({"", WORLD_GROUP, "mccl_world_group", "nccl_world_group"})
"""What MindSpore's builds call the group of all ranks."""
_PORTS: Final = 16
_CONNECT_S, _ANSWER_S = 20.0, 30.0


def rank_count() -> int:
    """Return how many ranks the job has, by ``RANK_SIZE``, which ``msrun`` sets; 1 where nothing says it."""
    size = os.environ.get("RANK_SIZE", "1")
    return int(size) if size.isdecimal() else 1


@define(eq=False)
class JobRanks:
    """
    The ranks as this process knows them; :meth:`join` connects to them.

    This connection carries the data of collectives, and when recordings are written their times.
    """

    _link: RankLink | None = None
    _groups: dict[str, tuple[int, ...]] = field(factory=dict)
    _number: int | None = None
    _problem: str = ""

    def join(self, rank: int, size: int, host: str, port: int) -> None:
        """Connect to the other ranks, at one of the ports behind the scheduler's; a recording notes what goes wrong."""
        if self._link is not None or size < 2:
            return
        try:
            self._link = RankLink.join(
                rank,
                size,
                host=host,
                port=port + 1,
                ports=_PORTS,
                job=f"{host}:{port}",
                connect_s=_CONNECT_S,
                answer_s=_ANSWER_S,
            )
        except CommandError as error:
            self._problem = f"collectives wait for no rank: {error}"

    def link(self) -> RankLink:
        """
        Return the connection to the other ranks.

        Raises
        ------
        CommandError
            There is none: the script has not called ``init``, or the ranks did not find each other.
        """
        if self._link is None:
            raise CommandError(self._problem or "the ranks are not joined: call mindspore.communication.init() first")
        return self._link

    def close(self) -> None:
        """Leave the other ranks."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def name_group(self, group: str, ranks: Sequence[int]) -> None:
        """Note the ranks of a group that the script creates."""
        self._groups[group] = tuple(int(rank) for rank in ranks)

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """The ranks of all groups by their names, the world under `WORLD_GROUP`."""
        return {WORLD_GROUP: tuple(range(rank_count())), **self._groups}

    def begin_recording(self) -> None:
        """Tell the other ranks of a recording."""
        self._number = None if self._link is None else announce(self._link, self._link.rank)

    def end_recording(self, calls: Sequence[RankCall]) -> RankRendezvous:
        """
        Return the rendezvous with the recordings of the others; *calls* are the collectives in order of their start.

        Of groups the n-th collective is the n-th of all; messages have their own numbers.
        """
        link, notes = self._link, [self._problem] if self._problem and calls else []
        if link is None:
            return RankRendezvous(notes=notes)
        number, self._number = self._number, None
        return RankRendezvous(calls, number, link.rank, link)
