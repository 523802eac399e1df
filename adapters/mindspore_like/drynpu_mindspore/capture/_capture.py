"""The capture of one process: MindSpore's own CPU profiler and recorder, its saved graphs, its dataset profiler."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field

from drynpu import CaptureError
from drynpu.kernels import Operators
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._captured import NO_TOTALS, CapturedMindSpore, CapturedPart, CaptureOptions
from drynpu_mindspore.capture._describe import describe, is_known
from drynpu_mindspore.capture._forward import ForwardCall
from drynpu_mindspore.capture._graph_calls import GraphCalls
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._hook import LaunchHook, SeenLaunches, load_hook
from drynpu_mindspore.capture._host_events import HostEventCapture, HostEvents
from drynpu_mindspore.capture._launches import on_threads, read_launches, read_pool
from drynpu_mindspore.capture._memory import GraphMemory
from drynpu_mindspore.capture._pipeline import read_pipeline
from drynpu_mindspore.inside import wait_for_pynative
from drynpu_mindspore.target import CPU

_DATASET, _SHAPES, _EVENTS = "the data pipeline (data_process)", "shapes of inner operators", "events of the host"
_NO_EVENTS: Callable[[], HostEvents] = HostEvents
_MEMORY, _LAUNCHES = "the totals of memory (profile_memory)", "launches of operators"
_NO_HOOK = (
    "no C++ compiler (g++, c++, clang++ or the one that CXX names), or a MindSpore whose inside is not known: "
    "shapes of operators that others call inside are not seen"
)


@define
class Capture:
    """
    Records what MindSpore computes on the CPU, in any number of recordings one after the other.

    MindSpore has one CPU profiler per process; a script's own use of it disturbs this one.

    Parameters
    ----------
    graphs:
        The graphs of the process. Call ``begin`` of the one store before MindSpore compiles the first graph: without
        graphs only some launches have shapes and none has data types.
    graph_calls:
        When the script runs compiled graphs, told by the patches.
    """

    graphs: GraphStore = field(factory=GraphStore)
    graph_calls: GraphCalls = field(factory=GraphCalls)
    _options: CaptureOptions = field(factory=CaptureOptions)
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None)
    _dataset: Any = field(default=None)
    _recorder: HostEventCapture = field(factory=HostEventCapture)
    _hook: LaunchHook | None = None
    _hook_tried: bool = False
    _graphs_lock: threading.Lock = field(factory=threading.Lock)
    """Held by whoever adds to the graphs or looks something up: a part may be read beside the script."""
    _thread: int = 0
    _begin_ns: int = 0

    @property
    def running(self) -> bool:
        """Whether a recording is under way."""
        return self._folder is not None

    def start(self, options: CaptureOptions | None = None) -> None:
        """
        Begin to record: :meth:`stop` returns the launches from here on.

        Without *options* only operators are recorded.

        Raises
        ------
        CaptureError
            A recording is under way already.
        """
        if self.running:
            raise CaptureError("a capture of MindSpore is running already; stop it before another start")
        _settle()
        self.graphs.begin()
        self.graphs.busy()
        self._thread = threading.get_native_id()
        self._options = CaptureOptions() if options is None else options
        parts = self._options.parts
        if self._options.data_process:
            self._dataset = parts.gather(_DATASET, _started_dataset_profiler, None)
        if not self._hook_tried:
            self._hook, self._hook_tried = parts.gather(_SHAPES, lambda: load_hook(_package()), None), True
        self._record()
        # Always: what PyNative calls comes with the events.
        with_stack = self._options.host_events and self._options.with_stack
        parts.gather(_EVENTS, lambda: self._recorder.start(with_stack=with_stack), None)

    def cut(self) -> CapturedPart:
        """
        Wait until everything that the script called has been computed, end a part of the recording, and go on.

        Reading the part, which takes longer than ending it, is left to whoever wants it. What the data pipelines and
        the calls of Python functions were comes with :meth:`stop` alone.

        Raises
        ------
        CaptureError
            No recording is under way.
        """
        notes, folder = self._end()
        read_events = self._options.parts.gather(_EVENTS, self._recorder.cut, _NO_EVENTS)
        part = self._part(folder, read_events, notes)
        self._record()
        return part

    def stop(self) -> CapturedMindSpore:
        """
        End the recording when everything that the script called has been computed; return it from the last cut on.

        Raises
        ------
        CaptureError
            No recording is under way.
        """
        notes, folder = self._end()
        parts = self._options.parts
        read_events = parts.gather(_EVENTS, self._recorder.stop, _NO_EVENTS)
        dataset, self._dataset = self._dataset, None
        saved = dataset is not None and parts.gather(_DATASET, lambda: _save_dataset(dataset, folder.name), False)
        part = self._part(folder, read_events, notes, has_dataset=saved)
        self.graphs.idle()
        return part.read()

    def _record(self) -> None:
        """Have MindSpore's CPU profiler record into a new folder."""
        self._begin_ns = time.time_ns()
        folder = tempfile.TemporaryDirectory(prefix="drynpu-capture-")
        parts = self._options.parts
        parts.gather(_LAUNCHES, lambda: _start_profiler(folder.name), None)
        if self._options.profile_memory:
            parts.gather(_MEMORY, lambda: _cpu_profiler().enable_profile_memory(), None)
        self._folder = folder
        self.graph_calls.begin()
        self._see(on=True)

    def _see(self, *, on: bool) -> SeenLaunches:
        return SeenLaunches() if self._hook is None else self._hook.record(on=on)

    def _end(self) -> tuple[list[str], tempfile.TemporaryDirectory[str]]:
        """End the part under way; return notes and the folder with what the CPU profiler recorded."""
        if self._folder is None:
            raise CaptureError("no capture of MindSpore is running; start it before stop")
        notes = _settle()
        folder, self._folder = self._folder, None
        return notes, folder

    def _part(
        self,
        folder: tempfile.TemporaryDirectory[str],
        read_events: Callable[[], HostEvents],
        notes: list[str],
        *,
        has_dataset: bool = False,
    ) -> CapturedPart:
        parts = self._options.parts
        parts.gather(_LAUNCHES, lambda: _cpu_profiler().stop(), None)
        seen = self._see(on=False)
        with self._graphs_lock:
            forward = self.graphs.collect()
        begin_ns, notes = self._begin_ns, [*notes, *self._unavailable()]
        graph_calls = self.graph_calls.end()

        def read() -> CapturedMindSpore:
            events = parts.gather(_EVENTS, read_events, HostEvents())
            captured = self._read(folder, events, forward, seen, begin_ns, notes, has_dataset)
            return evolve(captured, graph_calls=graph_calls)

        return CapturedPart(read)

    def _read(
        self,
        folder: tempfile.TemporaryDirectory[str],
        on_host: HostEvents,
        forward: Sequence[tuple[ForwardCall, ...]],
        seen: SeenLaunches,
        begin_ns: int,
        notes: Sequence[str],
        has_dataset: bool,
    ) -> CapturedMindSpore:
        options, parts = self._options, self._options.parts
        with folder, self._graphs_lock:
            path = Path(folder.name)

            def described() -> Operators:
                launches = read_launches(path)
                if options.host_events:
                    launches = on_threads(launches, on_host.launches)
                return describe(launches, self.graphs, self._thread, forward, on_host.calls, seen)

            operators = parts.gather(_LAUNCHES, described, Operators.from_calls(()))
            unknown = _unknown(operators)
            return CapturedMindSpore(
                operators=operators,
                dataset=parts.gather(_DATASET, lambda: read_pipeline(path), {}) if has_dataset else {},
                host_events=on_host.events if options.host_events else FrameworkEvents.empty(),
                notes=(*notes, _NO_HOOK) if unknown and self._hook is None else tuple(notes),
                unknown=unknown,
                memory=GraphMemory(graphs=self.graphs.kernel_graphs(), gradients=bool(forward)),
                pool=parts.gather(_MEMORY, lambda: read_pool(path, begin_ns), NO_TOTALS)
                if options.profile_memory
                else NO_TOTALS,
            )

    def _unavailable(self) -> list[str]:
        if self._recorder.available or not self._options.host_events:
            return self.graphs.parts.lost
        calls = ", no Python calls (with_stack)" if self._options.with_stack else ""
        unknown = f"the inside of this MindSpore is not known: no events of the host, no dataset.csv{calls}"
        return [*self.graphs.parts.lost, unknown]

    def close(self) -> None:
        """End a recording that is under way and save no more graphs; graphs that were read stay known."""
        if self.running:
            self.stop()
        self.graphs.close()


def _settle() -> list[str]:
    """
    Wait until PyNative has computed what it has queued, so that start and stop cut between operators.

    MindSpore reports an operator of the script that failed here. The failure must not end the recording, so it is
    returned as a note.
    """
    try:
        wait_for_pynative()
    except (RuntimeError, TypeError, ValueError) as error:
        return [f"MindSpore reported an operator that failed: {error}"]
    return []


def _package() -> Path:
    import mindspore

    return Path(mindspore.__file__).parent


def _cpu_profiler() -> Any:
    from mindspore import _c_expression

    return _c_expression.Profiler.get_instance(CPU)


def _start_profiler(folder: str) -> None:
    profiler = _cpu_profiler()
    profiler.init(folder)
    profiler.step_profiling_enable(True)
    profiler.enable_op_time()


def _started_dataset_profiler() -> Any:
    from mindspore import _c_dataengine

    profiler = _c_dataengine.GlobalContext.profiling_manager()
    profiler.init()
    profiler.start()
    return profiler


def _save_dataset(profiler: Any, folder: str) -> bool:
    profiler.stop()
    profiler.save(folder)
    return True


def _unknown(operators: Operators) -> tuple[str, ...]:
    """Return the primitives of which some launches lack shapes or types."""
    used = np.unique(operators.signature).tolist()
    return tuple(sorted({operators.signatures[i].name for i in used if not is_known(operators.signatures[i])}))
