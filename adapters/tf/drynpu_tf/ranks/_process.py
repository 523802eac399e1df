"""The ranks as this process reaches them: joined at the first collective, left at the end of the process."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence

from attrs import define, evolve, field

from drynpu.recorder import RankCall, RankLink, RankRendezvous, announce, at_process_end
from drynpu_tf.ranks._environment import Job
from drynpu_tf.ranks._exchange import Array, Exchange
from drynpu_tf.ranks._hcom import Hcom


@define(eq=False)
class Ranks:
    """
    The other ranks of this process's job.

    While a recording runs, :meth:`exchange` announces it to them, so that they can meet when it is written.
    """

    _link: RankLink | None = None
    _counts: Counter[str] = field(factory=Counter)
    _first: dict[str, int] = field(factory=dict)
    _recording: bool = False
    _number: int | None = None
    _lock: threading.RLock = field(factory=threading.RLock)

    def begin_recording(self) -> None:
        """Tell the others of a recording as soon as a collective runs in it."""
        with self._lock:
            self._recording, self._number = True, None
            self._first.clear()

    def end_recording(self, calls: Sequence[RankCall]) -> RankRendezvous:
        """Return the rendezvous with the recordings of the other ranks, for the collectives of this one in order."""
        with self._lock:
            number, self._recording, self._number = self._number, False, None
            link, first = self._link, dict(self._first)
        if link is None or not calls:
            return RankRendezvous()
        numbered = [evolve(call, sequence=first.get(call.group, 0)) for call in calls]
        return RankRendezvous(numbered, number, link.rank, link)

    def exchange(self, hcom: Hcom, name: str, arrays: Sequence[Array], counts: Sequence[int] = ()) -> list[Array]:
        """
        Run a communication operator with the other ranks of its group, and return what it leaves on this one.

        Parameters
        ----------
        name:
            Tells the operators of a job apart: equal on all ranks for the same one.
        arrays:
            What this rank gives.
        counts:
            Of ``alltoallv``: how many elements go to each rank.

        Raises
        ------
        TimeoutError
            Another rank has not come, or has ended.
        CommandError
            There are no other ranks.
        """
        link = self._join()
        self._count(hcom, link)
        return Exchange(link, hcom, f"{hcom.group}/{hcom.kind}/{name}", tuple(arrays), tuple(counts)).run()

    def close(self) -> None:
        """Leave the other ranks."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _join(self) -> RankLink:
        with self._lock:
            if self._link is None:
                job = Job.from_environ(os.environ)
                self._link = RankLink.join(
                    job.rank,
                    job.size,
                    host=job.host,
                    port=job.port,
                    job=job.name,
                    connect_s=job.connect_s,
                    answer_s=job.answer_s,
                )
            return self._link

    def _count(self, hcom: Hcom, link: RankLink) -> None:
        with self._lock:
            if self._recording:
                # Before any data moves: who has it knows that this rank records.
                if self._number is None:
                    self._number = announce(link, link.rank)
                self._first.setdefault(hcom.group, self._counts[hcom.group])
            self._counts[hcom.group] += 1


RANKS = Ranks()
"""The one process-wide state of this room: a process is one rank of one job."""

# Registered before any recording begins, so done after all of them are written.
at_process_end(RANKS.close)
