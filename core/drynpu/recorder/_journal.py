"""What a recording has captured, on disk while it runs; `drynpu.recorder.recover` makes a result of it."""

from __future__ import annotations

import os
import queue
import shutil
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import psutil
from attrs import define, evolve, field

from drynpu._staging import staged_path
from drynpu.kernels import KernelPlan, Signature
from drynpu.recorder._packing import Forms, pack
from drynpu.simulate import Destination, Planner, Recording

JOURNAL_PREFIX = ".drynpu_journal-"
"""Begins the name of the folder of a journal, which ends with the process id of its writer and a number."""
HEAD_FILE = "head.npz"
SAVE_INTERVAL_NS = 500_000_000
"""Time after which an adapter has what it captured saved: a killed process loses no more than that and a step."""
FORMAT = 2
"""Changes with what the files of a journal hold."""
_JOIN_S = 30.0
"""How long the end of a recording waits for a part that is being written; the folder stays if it takes longer."""

Documents: TypeAlias = Mapping[str, Mapping[str, object]]
"""JSON documents of the run directory, by their file name."""


def process_start_s(pid: int) -> float:
    """Return when a process started (Unix s), 0 where there is none: ids of processes are used again."""
    try:
        return float(psutil.Process(pid).create_time())
    except (psutil.Error, OSError):
        return 0.0


@define(kw_only=True)
class Journal:
    """
    Parts of one recording, each written by a thread of its own to a file that is whole or not there.

    Nothing raises: the first thing that goes wrong is told in one line and ends the journal. The recording itself is
    in memory all the while.

    Attributes
    ----------
    destination:
        Where the recording will go; the journal's folder lies in its directory.
    head:
        What the recording is simulated with, as plain values.
    find_plan:
        Returns what maps operator calls to kernels; called in the journal's thread. The plans go into the journal, so
        that its reader needs no framework.
    warn:
        Shows a line to the user.
    """

    destination: Destination
    head: Mapping[str, object]
    find_plan: Callable[[], Planner]
    warn: Callable[[str], object]
    _pid: int = field(factory=os.getpid, init=False)
    _path: Path | None = field(default=None, init=False)
    _parts: queue.SimpleQueue[Callable[[], bytes] | None] = field(factory=queue.SimpleQueue, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _ended: bool = field(default=False, init=False)
    _count: int = field(default=0, init=False)
    _plan: Planner | None = field(default=None, init=False)
    _calls: dict[object, tuple[Signature, KernelPlan]] = field(factory=dict, init=False)
    _forms: Forms = field(factory=dict, init=False)
    """Of the values of ``_calls``: most parts hold the same calls."""

    @property
    def path(self) -> Path | None:
        """The folder; ``None`` before the first part."""
        return self._path

    def add(self, build: Callable[[], Mapping[int, Recording]], documents: Documents | None = None) -> None:
        """
        Have a part of the recording written: what happened since the part before.

        Parameters
        ----------
        build:
            Returns the part by device id; called in the journal's thread.
        documents:
            The documents of the run directory as they are now; the last ones are written when a run is recovered.
        """
        if self._ended or os.getpid() != self._pid:
            return
        described = {name: dict(document) for name, document in (documents or {}).items()}
        self._parts.put(lambda: self._packed(build(), described))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="drynpu-journal", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # at the end of the interpreter, or no more threads
                self._give_up(error)

    def discard(self) -> None:
        """Remove the journal: the recording has been written, or is not wanted."""
        if os.getpid() != self._pid:
            return
        self._ended = True
        self._parts.put(None)
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(_JOIN_S)
        if self._path is not None:
            # A journal without its head is no journal: the rest may go in any order.
            with suppress(OSError):
                (self._path / HEAD_FILE).unlink()
            shutil.rmtree(self._path, ignore_errors=True)

    def _run(self) -> None:
        while True:
            part = self._parts.get()
            if part is None or self._ended:
                return
            try:
                self._write(part())
            except Exception as error:  # noqa: BLE001 - the training goes on, whatever befalls its journal
                self._give_up(error)
                return

    def _give_up(self, error: Exception) -> None:
        if not self._ended:
            self._ended = True
            reason = (error.strerror or error) if isinstance(error, OSError) else repr(error)
            self.warn(
                f"Recorded steps can no longer be saved while recording ({self.destination.directory}: {reason}). The "
                "recording goes on in memory; if the process is killed, steps from here on are lost."
            )

    def _write(self, data: bytes) -> None:
        if self._path is None:
            self._path = self._new_folder()
            _write_file(self._path / HEAD_FILE, pack(self._described()))
        _write_file(self._path / f"part-{self._count:06d}.npz", data)
        self._count += 1

    def _new_folder(self) -> Path:
        self.destination.directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        for number in range(10_000):
            path = self.destination.directory / f"{JOURNAL_PREFIX}{self._pid}-{number}"
            with suppress(FileExistsError):
                path.mkdir(mode=0o750)
                return path
        raise FileExistsError("too many journals")

    def _described(self) -> dict[str, object]:
        return {
            **self.head,
            "format": FORMAT,
            "destination": evolve(self.destination, directory=Path()),
            "process_start_s": process_start_s(self._pid),
            "host": socket.gethostname(),
        }

    def _packed(self, recordings: Mapping[int, Recording], documents: Mapping[str, object]) -> bytes:
        known = {each: self._known_calls(recording.operators.signatures) for each, recording in recordings.items()}
        return pack(
            {
                "recordings": {
                    each: evolve(
                        recording,
                        rendezvous=None,
                        operators=evolve(recording.operators, signatures=tuple(call for call, _ in known[each])),
                    )
                    for each, recording in recordings.items()
                },
                "plans": {each: tuple(plan for _, plan in calls) for each, calls in known.items()},
                "documents": documents,
            },
            self._forms,
        )

    def _known_calls(self, signatures: Iterable[Signature]) -> list[tuple[Signature, KernelPlan]]:
        """Return the signatures with their plans, equal ones as the objects of earlier parts."""
        plan = self._plan = self._plan or self.find_plan()
        calls = []
        for signature in signatures:
            key = signature.key
            if key not in self._calls:
                self._calls[key] = signature, plan(signature)
                self._forms.update(dict.fromkeys(map(id, self._calls[key])))
            calls.append(self._calls[key])
        return calls


def _write_file(path: Path, data: bytes) -> None:
    with staged_path(path) as temporary:
        temporary.write_bytes(data)
