"""The capture of one process: MindSpore's own CPU profiler and recorder, its saved graphs, its dataset profiler."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu import CaptureError
from drynpu.arrays import I64
from drynpu.kernels import Operators
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._describe import describe, is_known
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._host_events import HostEventCapture
from drynpu_mindspore.capture._launches import on_threads, read_launches
from drynpu_mindspore.capture._memory import GraphMemory
from drynpu_mindspore.capture._options import CaptureOptions
from drynpu_mindspore.capture._pipeline import DatasetPipeline, read_pipeline
from drynpu_mindspore.capture._pool import NO_TOTALS, read_pool
from drynpu_mindspore.target import CPU


@frozen(eq=False, kw_only=True)
class CapturedMindSpore:
    """
    What MindSpore did between start and stop.

    ``dataset`` is ``None`` where it was not asked for or no data pipeline was made and read in the meantime;
    ``host_events`` are none where they were not asked for. ``notes`` are readable lines on what could not be told.
    ``memory`` is what the graphs tell of allocations, ``None`` without graphs; ``pool`` what was in MindSpore's memory
    pool on the CPU (:func:`drynpu_mindspore.capture._pool.read_pool`).
    """

    operators: Operators
    dataset: DatasetPipeline | None = None
    host_events: FrameworkEvents = field(factory=FrameworkEvents.empty)
    notes: tuple[str, ...] = ()
    memory: GraphMemory | None = None
    pool: I64 = field(default=NO_TOTALS)


@define
class Capture:
    """
    Records what MindSpore computes on the CPU, as often as wanted.

    MindSpore has one CPU profiler per process; a script's own use of it disturbs this one.

    Parameters
    ----------
    graphs:
        Keep one store per process, hand it to every capture, and call its ``begin`` before the first graph is compiled:
        without graphs shapes are known of some launches only and data types of none.
    """

    graphs: GraphStore = field(factory=GraphStore)
    _options: CaptureOptions = field(factory=CaptureOptions)
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None)
    _dataset: Any = field(default=None)
    _recorder: HostEventCapture = field(factory=HostEventCapture)
    _thread: int = 0
    _begin_ns: int = 0

    @property
    def running(self) -> bool:
        """Whether a recording runs."""
        return self._folder is not None

    def start(self, options: CaptureOptions | None = None) -> None:
        """
        Begin to record; launches from here on are in what :meth:`stop` returns.

        By default nothing is recorded beside operators.

        Raises
        ------
        CaptureError
            It records already.
        """
        if self.running:
            raise CaptureError("a capture of MindSpore is running already; stop it before another start")
        _settle()
        self.graphs.begin()
        self.graphs.busy()
        self._thread, self._begin_ns = threading.get_native_id(), time.time_ns()
        self._options = CaptureOptions() if options is None else options
        folder = tempfile.TemporaryDirectory(prefix="drynpu-capture-")
        if self._options.data_process:
            self._dataset = _dataset_profiler()
            self._dataset.init()
            self._dataset.start()
        profiler = _cpu_profiler()
        profiler.init(folder.name)
        profiler.step_profiling_enable(True)
        profiler.enable_op_time()
        if self._options.profile_memory:
            profiler.enable_profile_memory()
        if self._options.host_events:
            self._recorder.start(with_stack=self._options.with_stack)
        self._folder = folder

    def stop(self) -> CapturedMindSpore:
        """
        End the recording and return it; all computing that was asked for has then been done.

        Raises
        ------
        CaptureError
            Nothing is being recorded.
        """
        if self._folder is None:
            raise CaptureError("no capture of MindSpore is running; start it before stop")
        notes = _settle()
        folder, dataset = self._folder, self._dataset
        self._folder = self._dataset = None
        events, on_host = self._recorder.stop()
        with folder:
            path = Path(folder.name)
            _cpu_profiler().stop()
            if dataset is not None:
                dataset.stop()
                dataset.save(folder.name)
            forward = self.graphs.collect()
            self.graphs.idle()
            operators = describe(on_threads(read_launches(path), on_host), self.graphs, self._thread, forward)
            pipeline = read_pipeline(path) if dataset is not None else None
            pool = read_pool(path, self._begin_ns) if self._options.profile_memory else NO_TOTALS
            memory = GraphMemory(graphs=self.graphs.kernel_graphs(), gradients=bool(forward))
        return CapturedMindSpore(
            operators=operators,
            dataset=pipeline,
            host_events=events,
            notes=(*notes, *self._unavailable(), *_notes(operators)),
            memory=memory,
            pool=pool,
        )

    def _unavailable(self) -> list[str]:
        if self._recorder.available or not self._options.host_events:
            return []
        calls = ", no Python calls (with_stack)" if self._options.with_stack else ""
        return [f"MindSpore's library is not that of 2.7 for Linux: no events of the host, no dataset.csv{calls}"]

    def close(self) -> None:
        """Stop recording, if it does, and have no more graphs saved; what is known of them stays."""
        if self.running:
            self.stop()
        self.graphs.close()


def _settle() -> list[str]:
    """
    Wait for what PyNative has queued, so that it falls on the right side of start and stop.

    An operator of the script's that failed meanwhile says so here; that must not end the recording, so it is a note.
    """
    from mindspore.common.api import _pynative_executor

    try:
        _pynative_executor.sync()
    except (RuntimeError, TypeError, ValueError) as error:
        return [f"MindSpore reported an operator that failed: {error}"]
    return []


def _cpu_profiler() -> Any:
    from mindspore import _c_expression

    return _c_expression.Profiler.get_instance(CPU)


def _dataset_profiler() -> Any:
    from mindspore import _c_dataengine

    return _c_dataengine.GlobalContext.profiling_manager()


def _notes(operators: Operators) -> list[str]:
    """Tell the primitives of which some launches lack shapes or types."""
    used = np.unique(operators.signature).tolist()
    unknown = sorted({operators.signatures[i].name for i in used if not is_known(operators.signatures[i])})
    return [f"shapes or data types unknown of some launches of {', '.join(unknown)}"] if unknown else []
