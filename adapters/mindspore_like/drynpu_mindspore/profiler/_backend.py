"""The interface of what records, :class:`Backend`, and the values that the surface passes to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from drynpu_mindspore.profiler._parameters import Parameters


@frozen(kw_only=True)
class RunRequest:
    """
    What one run directory is made from: one per cycle of a schedule.

    Attributes
    ----------
    folder:
        Absolute path that the directory ``<worker>_<pid>_<timestamp>_ascend_ms`` is made in; may not exist yet.
    worker_name:
        Begin of the directory's name; ``None``: the host name.
    parameters:
        The normalised parameters.
    is_set_schedule:
        Whether the script gave a schedule of its own; ``parameters.schedule`` is the default one if not.
    rank_id, device_id:
        Of this process, as decimal text, as ``profiler_info`` shows them.
    jit_level:
        ``O0``, ``O1`` or ``O2``; empty where the framework has set none.
    framework_version:
        What ``ms_version`` shows.
    device_target:
        ``Ascend``; ``CPU`` or ``GPU`` for a script that says so, which has no NPU to record.
    """

    folder: Path
    worker_name: str | None
    parameters: Parameters
    is_set_schedule: bool
    rank_id: str
    device_id: str
    jit_level: str
    framework_version: str
    device_target: str


@frozen(kw_only=True)
class Analysis:
    """
    How a run directory is analysed; every field has been checked.

    Attributes
    ----------
    pretty:
        Indent JSON files.
    step_list:
        Steps to deliver, ascending and without gaps; ``None`` for all.
    asynchronous:
        Analyse in a process of its own; does not wait for it.
    data_simplification:
        Remove what only the analysis needed; ``None``: as the recording's parameters say.
    """

    pretty: bool = False
    step_list: tuple[int, ...] | None = None
    asynchronous: bool = False
    data_simplification: bool | None = None


class Backend(Protocol):
    """
    Records, and writes what a recording leaves.

    Calls come in the order of the vendor's transition table (mindspore_profiler.md 5.1): ``init`` (``start``
    ``stop``)* ``finalize`` ``analyse``? ``clear``; a profiler that is used by hand may leave out the later ones. The
    surface keeps who is initialised, so no method but ``prepare``, ``configured``, ``trained`` and
    ``analyse_offline`` is called without an ``init`` before it. What a method raises is logged by the surface and
    ends nothing.
    """

    def prepare(self) -> None:
        """Prepare for a profiler that was constructed and may be started later, or never. Called once for each."""
        ...

    def configured(self, request: RunRequest) -> None:
        """Accept what the profiler that was constructed last would record. Called once for each, after `prepare`."""
        ...

    def trained(self) -> None:
        """Accept that a step of ``Model.train`` is over."""
        ...

    def init(self, request: RunRequest) -> Path:
        """Make the run directory with its FRAMEWORK folder, and return its absolute path."""
        ...

    def start(self) -> None:
        """Start recording; a second start in the same run directory adds to it."""
        ...

    def stop(self) -> None:
        """Stop recording; the caller has waited for operators under way. A step that is still open ends here."""
        ...

    def finalize(self) -> None:
        """Write what describes the recording (``profiler_info_<rank>.json`` and raw data)."""
        ...

    def write_metadata(self, metadata: Mapping[str, object], indent: int | None) -> None:
        """Write ``profiler_metadata.json``: texts and JSON documents by key, at least one; around `finalize`."""
        ...

    def trace_ready(self) -> None:
        """Accept that the recording is complete: the script's handler is called right after this."""
        ...

    def clear(self) -> None:
        """Forget the run directory; the next call is an ``init``, if there is one."""
        ...

    def exchange(self, held: object) -> object:
        """Go on with the run of another profiler, and return what is held of the current one; ``None``: no run."""
        ...

    def delete_dir(self) -> None:
        """Accept that the run directory holds nothing (a schedule that was stopped while warming up)."""
        ...

    def save(self, settle: Callable[[], None], metadata: Mapping[str, object]) -> None:
        """
        Accept that the script is between two steps: what was recorded may be saved for the case of a kill.

        *settle* waits until all operators have run; called only if something is saved. *metadata* are
        what the script added since `write_metadata`.
        """
        ...

    def open_step(self, number: int) -> None:
        """Begin the range ``ProfilerStep#<number>`` on the calling thread; also called while nothing is recorded."""
        ...

    def close_step(self) -> None:
        """End the range that `open_step` began; comes before the ``stop`` that the same step leads to."""
        ...

    def analyse(self, how: Analysis) -> None:
        """Analyse the current run directory, after `finalize` (releases until 2.5: before it)."""
        ...

    def analyse_offline(self, runs: Sequence[Path], how: Analysis, processes: int) -> Mapping[Path, str]:
        """
        Analyse run directories in at most *processes* processes, and return the failed ones with the reason.

        ``how.asynchronous`` is never set here, ``how.data_simplification`` always.
        """
        ...

    def mark(self, message: str, domain: str, stream: object | None) -> None:
        """Record a point that the user marks (mstx); *stream* is the framework's object, ``None`` for the host only."""
        ...

    def range_start(self, message: str, domain: str, stream: object | None) -> int:
        """Begin a range that the user marks (mstx), and return its id, above 0."""
        ...

    def range_end(self, range_id: int, domain: str) -> None:
        """End the range with that id; an unknown id is left alone."""
        ...
