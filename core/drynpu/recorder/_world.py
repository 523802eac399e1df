"""Ranks of a job that run without the others: what ``drynpu run --world`` hands to them, and where they meet."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
from attrs import frozen

from drynpu._errors import OptionError
from drynpu._staging import staged_path

WORLD_VARIABLE: Final = "DRYNPU_WORLD"
"""Environment variable that holds a `WorldCommand` as text; processes that the script starts inherit it."""

_POLL_S: Final = 0.01
_ENDED: Final = "ended"


@frozen(kw_only=True)
class WorldCommand:
    """
    Run as one rank of a job whose other ranks are not there.

    Attributes
    ----------
    size:
        Ranks of the job.
    ranks:
        Those that run, each by itself.
    folder:
        Where these exchange the times of their devices when they write their recordings.
    jitter:
        Standard deviation of the logarithm of what the time between two collectives of another rank is multiplied by.
    straggler:
        A rank that takes longer between collectives, and by which factor; None: no rank does.
    """

    size: int
    ranks: tuple[int, ...]
    folder: Path
    jitter: float = 0.0
    straggler: tuple[int, float] | None = None

    def to_text(self) -> str:
        """Return the value of the environment variable."""
        document = {
            "size": self.size,
            "ranks": self.ranks,
            "folder": str(self.folder),
            "jitter": self.jitter,
            "straggler": self.straggler,
        }
        return orjson.dumps(document).decode()

    @classmethod
    def from_text(cls, text: str) -> WorldCommand:
        """Read the value of the environment variable. Raises `OptionError`."""
        try:
            document = orjson.loads(text)
            slow = document["straggler"]
            return cls(
                size=int(document["size"]),
                ranks=tuple(map(int, document["ranks"])),
                folder=Path(document["folder"]),
                jitter=float(document["jitter"]),
                straggler=None if slow is None else (int(slow[0]), float(slow[1])),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise OptionError([f"{WORLD_VARIABLE}: not an order of drynpu run --world: {error}"]) from error

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> WorldCommand | None:
        """Return the order to this process, None if it runs with its peers. Raises `OptionError`."""
        text = environ.get(WORLD_VARIABLE, "")
        return cls.from_text(text) if text else None


@frozen
class FolderStore:
    """
    Texts under keys that the ranks of one machine see, a file each: a `RankStore` for ranks that run by themselves.

    Nothing keeps their scripts in step, so a rank may end a recording before another has begun it. Their n-th
    recordings meet: `find` answers with the ``number`` of this rank's for every rank in ``ranks``.
    """

    folder: Path
    ranks: frozenset[int]
    number: int

    def set(self, key: str, value: str) -> None:
        """Put a text under *key*."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with staged_path(path) as staged:
            staged.write_text(value, encoding="utf-8")

    def find(self, key: str) -> str | None:
        """Return the number of another rank's recording, None for a rank that does not run."""
        return str(self.number) if int(key.partition("/")[0]) in self.ranks else None

    def read(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Return the texts under *keys* as soon as all are there; raise ``OSError`` where that cannot be any more."""
        deadline = time.monotonic() + seconds
        return [self._wait(key, deadline) for key in keys]

    def _wait(self, key: str, deadline: float) -> str:
        path, rank = self._path(key), key.partition("/")[0]
        while True:
            # Looked at first: a process that has ended has written all that it ever will.
            ended = (self.folder / rank / _ENDED).exists()
            if path.exists():
                return path.read_text(encoding="utf-8")
            if ended:
                raise OSError(f"rank {rank} ended without {key}")
            if time.monotonic() > deadline:
                raise OSError(f"rank {rank} does not answer ({key})")
            time.sleep(_POLL_S)

    def _path(self, key: str) -> Path:
        rank, _, rest = key.partition("/")
        return self.folder / rank / rest.replace("/", "~")


def note_end(folder: Path, rank: int) -> None:
    """Tell the ranks that wait for *rank* that its process has ended."""
    path = folder / str(rank)
    path.mkdir(parents=True, exist_ok=True)
    (path / _ENDED).touch()
