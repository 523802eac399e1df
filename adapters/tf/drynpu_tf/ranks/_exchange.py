"""One communication operator with the other ranks of its group: what each kind sends, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.recorder import RankLink
from drynpu_tf.ranks._hcom import Hcom

Array = npt.NDArray[Any]


@frozen(eq=False)
class Exchange:
    """
    An operator with what this rank gives.

    ``name`` tells the operators of a job apart. ``counts`` are, of an all-to-all, how many elements go to each rank.
    """

    link: RankLink
    hcom: Hcom
    name: str
    arrays: tuple[Array, ...]
    counts: tuple[int, ...] = ()

    def run(self) -> list[Array]:
        """Return what it leaves on this rank. Raises ``TimeoutError`` where another rank does not come."""
        kinds: dict[str, Callable[[], list[Array]]] = {
            "allReduce": self._reduce,
            "reduce": self._reduce,
            "reduceScatter": self._scatter,
            "allGather": self._gather,
            "broadcast": self._broadcast,
            "alltoallv": self._all_to_all,
            "alltoallvc": self._all_to_all,
            "send": self._send,
            "receive": self._receive,
        }
        return kinds[self.hcom.kind]()

    @property
    def _me(self) -> int:
        return self.hcom.ranks.index(self.link.rank)

    def _reduce(self) -> list[Array]:
        """Reduce all arrays, which have one type, as one; all ranks get the result."""
        flat = np.concatenate([array.reshape(-1) for array in self.arrays])
        (content,), _ = self.link.gather(
            self.name, self.hcom.ranks, flat.tobytes(), reduction=self.hcom.reduction, dtype=flat.dtype.name
        )
        return _parted(np.frombuffer(content, flat.dtype), self.arrays)

    def _scatter(self) -> list[Array]:
        return [np.split(self._reduce()[0], len(self.hcom.ranks))[self._me]]

    def _gather(self) -> list[Array]:
        """Join the arrays of all ranks along the first dimension, of which ranks may have different numbers."""
        (array,) = self.arrays
        parts, shapes = self.link.gather(self.name, self.hcom.ranks, array.tobytes(), content=list(array.shape))
        pieces = [np.frombuffer(part, array.dtype).reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return [np.concatenate(pieces)]

    def _broadcast(self) -> list[Array]:
        root = self.hcom.peer == self.link.rank
        content = b"".join(array.tobytes() for array in self.arrays) if root else b""
        parts, _ = self.link.gather(self.name, self.hcom.ranks, content)
        sent, copies = memoryview(b"".join(parts)), []
        for array in self.arrays:
            copies.append(np.frombuffer(sent[: array.nbytes], array.dtype).reshape(array.shape))
            sent = sent[array.nbytes :]
        return copies

    def _all_to_all(self) -> list[Array]:
        """Send a piece to every rank of the group and return the pieces of all for this one."""
        (array,) = self.arrays
        flat = array.reshape(-1)
        parts, everyone = self.link.gather(self.name, self.hcom.ranks, flat.tobytes(), content=list(self.counts))
        pieces = []
        for part, lengths in zip(parts, everyone, strict=True):
            start = sum(lengths[: self._me])
            pieces.append(np.frombuffer(part, array.dtype)[start : start + lengths[self._me]])
        return [np.concatenate(pieces)]

    @property
    def _message(self) -> str:
        ((sender, receiver, tag),) = self.hcom.messages(self.link.rank)
        return f"{self.hcom.group}/{sender}>{receiver}/{tag}"

    def _send(self) -> list[Array]:
        self.link.send(self._message, self.arrays[0].tobytes())
        return []

    def _receive(self) -> list[Array]:
        """Receive into the place of an array of that shape and type."""
        (like,) = self.arrays
        content = self.link.receive(self._message)
        if len(content) != like.nbytes:
            raise TimeoutError(f"{self._message}: {len(content)} bytes were sent, {like.nbytes} are expected")
        return [np.frombuffer(content, like.dtype).reshape(like.shape)]


def _parted(flat: Array, like: Sequence[Array]) -> list[Array]:
    parts = np.split(flat, np.cumsum([array.size for array in like])[:-1])
    return [part.reshape(array.shape) for part, array in zip(parts, like, strict=True)]
