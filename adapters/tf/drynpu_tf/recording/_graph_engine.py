"""
The graph engine of a process, and the one recording that the process has at a time.

The engine starts with the first session on the device, with that session's options, and ends
with the last one (tf_adapter geop_npu.cc, GeOp::Finalize), or with the process; so does the recording.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from attrs import define, field

from drynpu import say
from drynpu.options import Notice, ProfilingRequest
from drynpu.recorder import at_process_end
from drynpu_tf.recording._engine_recording import EngineRecording


@define
class GraphEngine:
    """
    The users of the graph engine (sessions, device handles) and the recording that they share.

    Attributes
    ----------
    finished:
        The PROF directories of this process in order.
    """

    finished: list[Path] = field(factory=list)
    _recorder: EngineRecording | None = None
    _armed: ProfilingRequest | None = None
    _users: set[int] = field(factory=set)
    _lock: threading.RLock = field(factory=threading.RLock)
    _owner: int = 0

    def join(self, user: int, request: ProfilingRequest, device_id: int = 0) -> EngineRecording:
        """
        Record for *user* (the id of a session or a device handle) as well, and return where that goes.

        Whoever comes first decides the options; they last until the last user has left.
        """
        with self._lock:
            self._begin_process()
            if self._recorder is None:
                directory = Path(request.output.directory or ".")
                self._recorder = EngineRecording.open(request, directory, device_id=device_id)
            elif self._recorder.request != request:
                say(
                    "profiling_options: the graph engine is running; the options it was started with stay, and all "
                    f"goes to {self._recorder.directory}."
                )
            self._users.add(user)
            return self._recorder

    def recorder(self, user: int) -> EngineRecording | None:
        """Return the recording that *user* has joined and not left; ``None`` in a process that was forked off."""
        return self._recorder if user in self._users and self._owner == os.getpid() else None

    @property
    def follows(self) -> bool:
        """Whether runs are to be told of, and everything on the device to be captured: where a script is checked."""
        return False

    def ran(self, key: object) -> None:
        """Take over that a run is over, if the engine `follows` them; *key* tells runs apart."""

    def noticed(self, notices: tuple[Notice, ...]) -> None:
        """Take over what was said of the options of a session or a device."""

    def arm(self, request: ProfilingRequest) -> None:
        """Have the next run of any session on the device begin a recording: local profiling."""
        self._armed = request

    @property
    def armed(self) -> bool:
        """Whether local profiling is armed, begun or not."""
        return self._armed is not None

    def local_recorder(self) -> EngineRecording | None:
        """Return the recording of local profiling, begun now if it has not; ``None`` if it is not armed."""
        return None if self._armed is None else self.join(id(self), self._armed)

    def disarm(self) -> Path | None:
        """End local profiling and return its PROF directory; ``None`` where no session has run since."""
        self._armed = None
        with self._lock:
            before = len(self.finished)
            self.leave(id(self))
            return self.finished[-1] if len(self.finished) > before else None

    def leave(self, user: int) -> None:
        """End the recording if *user* was the last one."""
        with self._lock:
            if user not in self._users:
                return
            self._users.discard(user)
            if not self._users:
                self.finish()
            elif self._recorder is not None and self._owner == os.getpid():
                self._recorder.save()

    def finish(self) -> Path | None:
        """
        Write what was recorded, whoever still uses it, and return the PROF directory.

        One line says what goes wrong: a profiler does not end a training.
        """
        with self._lock:
            recorder, self._recorder = self._recorder, None
            self._users.clear()
            if recorder is None or self._owner != os.getpid():
                return None
            try:
                path = recorder.close()
            except Exception as error:  # noqa: BLE001 - see above
                say(recorder.failure(error))
                return None
            if path is not None:
                self.finished.append(path)
                from drynpu.views import say_notes

                say_notes(recorder.notes)
            return path

    def _begin_process(self) -> None:
        """Have the recording end with this process; what a parent process records is left to the parent."""
        if self._owner == os.getpid():
            return
        at_process_end(self._end_process)
        self._owner, self._recorder = os.getpid(), None
        self._users.clear()

    def _end_process(self) -> None:
        self.finish()
        if self.finished:
            from drynpu.views import show_finished

            show_finished(self.finished, say)
