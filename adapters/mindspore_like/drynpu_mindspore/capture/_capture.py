"""The capture of one process: MindSpore's own CPU profiler, its saved graphs, its dataset profiler."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu import CaptureError
from drynpu.kernels import Operators
from drynpu_mindspore.capture._describe import describe, is_known
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._launches import read_launches
from drynpu_mindspore.capture._pipeline import DatasetPipeline, read_pipeline

__all__ = ["Capture", "Captured"]

_CPU = "CPU"


@frozen(eq=False, kw_only=True)
class Captured:
    """
    What MindSpore did between start and stop.

    ``dataset`` is ``None`` where it was not asked for or no data pipeline was made and read in the meantime. ``notes``
    are readable lines on what could not be told.
    """

    operators: Operators
    dataset: DatasetPipeline | None = None
    notes: tuple[str, ...] = ()


@define
class Capture:
    """
    Records what MindSpore computes on the CPU, as often as wanted.

    Keep one per process, and call :meth:`prepare` before the first graph is compiled: it collects the graphs, without
    which shapes are known of some launches only and data types of none. MindSpore has one CPU profiler per process; a
    script's own use of it disturbs this one.
    """

    _graphs: GraphStore = field(factory=GraphStore)
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None)
    _dataset: Any = field(default=None)
    _thread: int = 0

    @property
    def running(self) -> bool:
        """Whether a recording runs."""
        return self._folder is not None

    def prepare(self) -> None:
        """Have graphs saved from now on; :meth:`start` does it as well."""
        self._graphs.begin()

    def start(self, *, data_process: bool = False) -> None:
        """
        Begin to record; launches from here on are in what :meth:`stop` returns.

        Parameters
        ----------
        data_process:
            Profile the data pipelines that are made from now on, too.

        Raises
        ------
        CaptureError
            It records already.
        """
        if self.running:
            raise CaptureError("a capture of MindSpore is running already; stop it before another start")
        self._settle()
        self._graphs.begin()
        self._graphs.busy()
        self._thread = threading.get_native_id()
        self._folder = tempfile.TemporaryDirectory(prefix="drynpu-capture-")
        if data_process:
            self._dataset = _dataset_profiler()
            self._dataset.init()
            self._dataset.start()
        profiler = _cpu_profiler()
        profiler.init(self._folder.name)
        profiler.step_profiling_enable(True)
        profiler.enable_op_time()

    def stop(self) -> Captured:
        """
        End the recording and return it; all computing that was asked for has then been done.

        Raises
        ------
        CaptureError
            Nothing is being recorded.
        """
        if self._folder is None:
            raise CaptureError("no capture of MindSpore is running; start it before stop")
        self._settle()
        folder, dataset = self._folder, self._dataset
        self._folder = self._dataset = None
        with folder:
            path = Path(folder.name)
            _cpu_profiler().stop()
            if dataset is not None:
                dataset.stop()
                dataset.save(folder.name)
            forward = self._graphs.collect()
            self._graphs.idle()
            operators = describe(read_launches(path), self._graphs, self._thread, forward)
            pipeline = read_pipeline(path) if dataset is not None else None
        return Captured(operators=operators, dataset=pipeline, notes=tuple(_notes(operators)))

    def close(self) -> None:
        """Stop recording, if it does, and have no more graphs saved; what is known of them stays."""
        if self.running:
            self.stop()
        self._graphs.close()

    @staticmethod
    def _settle() -> None:
        """Wait for what PyNative has queued, so that it falls on the right side of start and stop."""
        from mindspore.common.api import _pynative_executor

        _pynative_executor.sync()


def _cpu_profiler() -> Any:
    from mindspore import _c_expression

    return _c_expression.Profiler.get_instance(_CPU)


def _dataset_profiler() -> Any:
    from mindspore import _c_dataengine

    return _c_dataengine.GlobalContext.profiling_manager()


def _notes(operators: Operators) -> list[str]:
    """Tell the primitives of which some launches lack shapes or types."""
    used = np.unique(operators.signature).tolist()
    unknown = sorted({operators.signatures[i].name for i in used if not is_known(operators.signatures[i])})
    return [f"shapes or data types unknown of some launches of {', '.join(unknown)}"] if unknown else []
