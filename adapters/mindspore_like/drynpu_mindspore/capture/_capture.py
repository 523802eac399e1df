"""The capture of one process: MindSpore's own CPU profiler and recorder, its saved graphs, its dataset profiler."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from drynpu import CaptureError
from drynpu.kernels import Operators
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._captured import NO_TOTALS, CapturedMindSpore, CaptureOptions
from drynpu_mindspore.capture._describe import describe, is_known
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._host_events import HostEventCapture
from drynpu_mindspore.capture._launches import on_threads, read_launches, read_pool
from drynpu_mindspore.capture._memory import GraphMemory
from drynpu_mindspore.capture._pipeline import read_pipeline
from drynpu_mindspore.target import CPU


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
        # Always: what PyNative calls comes with the events.
        self._recorder.start(with_stack=self._options.host_events and self._options.with_stack)
        self._folder = folder

    def stop(self) -> CapturedMindSpore:
        """
        Wait until everything that the script called has been computed, end the recording and return it.

        Raises
        ------
        CaptureError
            No recording is under way.
        """
        if self._folder is None:
            raise CaptureError("no capture of MindSpore is running; start it before stop")
        notes = _settle()
        folder, dataset = self._folder, self._dataset
        self._folder = self._dataset = None
        on_host = self._recorder.stop()
        with folder:
            path = Path(folder.name)
            _cpu_profiler().stop()
            if dataset is not None:
                dataset.stop()
                dataset.save(folder.name)
            forward = self.graphs.collect()
            self.graphs.idle()
            launches = read_launches(path)
            if self._options.host_events:
                launches = on_threads(launches, on_host.launches)
            operators = describe(launches, self.graphs, self._thread, forward, on_host.calls)
            pipeline = read_pipeline(path) if dataset is not None else {}
            pool = read_pool(path, self._begin_ns) if self._options.profile_memory else NO_TOTALS
            memory = GraphMemory(graphs=self.graphs.kernel_graphs(), gradients=bool(forward))
        return CapturedMindSpore(
            operators=operators,
            dataset=pipeline,
            host_events=on_host.events if self._options.host_events else FrameworkEvents.empty(),
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
    """Return a note that names the primitives of which some launches lack shapes or types."""
    used = np.unique(operators.signature).tolist()
    unknown = sorted({operators.signatures[i].name for i in used if not is_known(operators.signatures[i])})
    return [f"shapes or data types unknown of some launches of {', '.join(unknown)}"] if unknown else []
