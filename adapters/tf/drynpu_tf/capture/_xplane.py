"""Route B: TensorFlow's own tracer, started and stopped (tf_adapters.md 6)."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from drynpu import CaptureError
from drynpu_tf.capture._planes import ANCHOR, Kind, Planes, read_planes

_OFF, _LEVEL_WITHOUT_SHAPES, _LEVEL_WITH_SHAPES = -1, 2, 3
_SETTLING_S = 0.001
"""An executor returns after its function has, and writes its event then; the trace has to wait for it."""


@define
class _Anchor:
    """One reading of the clock around an event of the tracer's."""

    before_ns: int
    after_ns: int
    thread: int


# N26, docs/tricks.md
@define
class XplaneTracer:
    """
    Starts and stops TensorFlow's tracer, and ties its clock and its threads to the process's.

    Raises
    ------
    CaptureError
        From :meth:`start`, if another profiler (TensorBoard's) is active.
    """

    begin_ns: int = 0
    _session: Any = None
    _folder: Path | None = None
    _anchors: list[_Anchor] = field(factory=list)

    @property
    def active(self) -> bool:
        """Whether the tracer is recording."""
        return self._session is not None

    def start(self) -> None:
        """Start recording."""
        from drynpu_tf.inside import errors, pywrap_profiler, trace_level

        # Not `lending_session`, which stands in the place of the class and would take the tracer away from us.
        kind = pywrap_profiler.ProfilerSession
        session = getattr(kind, "__wrapped__", kind)()
        folder = Path(tempfile.mkdtemp(prefix="drynpu-"))
        options = {"host_tracer_level": _LEVEL_WITH_SHAPES, "python_tracer_level": 0, "device_tracer_level": 0}
        level = trace_level()
        is_off = level is not None and level.value == _OFF
        self.begin_ns = time.time_ns()
        try:
            session.start(str(folder), options)
        except errors.AlreadyExistsError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CaptureError(
                "TensorFlow's own profiler (TensorBoard's) is already recording in this process; only one recording "
                "can run at a time."
            ) from error
        if is_off and level is not None and level.value == _LEVEL_WITHOUT_SHAPES:
            # From 2.20 on TensorFlow takes no number of its options for one.
            level.value = _LEVEL_WITH_SHAPES
        self._session, self._folder = session, folder
        self._anchors.clear()

    def mark(self, thread: int) -> None:
        """Leave an event that says which of the tracer's threads the calling one (OS id *thread*) is, and when."""
        if self._session is not None:
            self._anchors.append(anchor(len(self._anchors), thread))

    def stop(self) -> tuple[Planes, dict[int, int]]:
        """Return what was recorded since :meth:`start` in Unix ns, and the OS ids of the tracer's threads."""
        session, folder = self._session, self._folder
        self._session = self._folder = None
        time.sleep(_SETTLING_S)
        try:
            session.export_to_tb()
            (file,) = Path(str(folder)).glob("plugins/profile/*/*.xplane.pb")
            planes = read_planes(file.read_bytes())
        except (OSError, ValueError) as error:
            raise CaptureError(f"TensorFlow's profiler left nothing that can be read: {error}") from error
        finally:
            shutil.rmtree(str(folder), ignore_errors=True)
        return self._placed(planes)

    def _placed(self, planes: Planes) -> tuple[Planes, dict[int, int]]:
        rows = planes.rows(Kind.ANCHOR)
        anchors = [(int(row), self._anchors[int(planes.number[row])]) for row in rows]
        # Each anchor begins between two readings of the clock; all together leave a few microseconds.
        low = max((reading.before_ns - int(planes.start_ns[row]) for row, reading in anchors), default=self.begin_ns)
        high = min((reading.after_ns - int(planes.start_ns[row]) for row, reading in anchors), default=low)
        shift = max(low, (low + high) // 2)
        threads = {int(planes.thread[row]): reading.thread for row, reading in anchors}
        return evolve(planes, start_ns=planes.start_ns + shift, end_ns=planes.end_ns + shift), threads


def anchor(number: int, thread: int) -> _Anchor:
    """Leave one numbered event in the running trace."""
    from drynpu_tf.inside import pywrap_traceme

    before_ns = time.time_ns()
    event = pywrap_traceme.TraceMe(ANCHOR, number=number)
    after_ns = time.time_ns()
    event.Stop()
    return _Anchor(before_ns, after_ns, thread)
