"""The models of a process: loading, running, unloading."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Protocol

from drynpu import say_once
from drynpu_acl.constants import ReturnCode
from drynpu_acl.runtime._data import DataSets
from drynpu_acl.runtime._devices import Devices
from drynpu_acl.runtime._execution import Executed, Refused, Runner
from drynpu_acl.runtime._listener import Listener
from drynpu_acl.runtime._memory import Memory
from drynpu_acl.runtime._onnx import ModelFile, UnreadableModel, open_model, parse_model


class Complain(Protocol):
    """Keeps the reason of a code that is not 0."""

    def __call__(self, reason: str, *, aloud: bool = False) -> None:
        """Keep the reason for ``acl.get_recent_err_msg``; *aloud* also prints it."""


class Models:
    """
    All loaded models by their numbers.

    Parameters
    ----------
    split:
        Whether the chip has cube and vector cores apart.
    listener:
        Returns what takes over runs, ``None`` for nothing.
    complain:
        Keeps why a call failed.
    """

    def __init__(
        self,
        devices: Devices,
        memory: Memory,
        data: DataSets,
        *,
        split: Callable[[], bool],
        listener: Callable[[], Listener | None],
        complain: Complain,
    ) -> None:
        self._devices, self._memory, self._data = devices, memory, data
        self._split, self._listener, self._complain = split, listener, complain
        self._ids = count(1)
        self._loaded: dict[int, Runner] = {}
        self._load_ns: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._threads = threading.local()

    @property
    def last_run(self) -> Executed | None:
        """The last run of this thread that did not fail."""
        return getattr(self._threads, "last_run", None)

    def get(self, model_id: int) -> ModelFile | None:
        """Return a loaded model."""
        runner = self._loaded.get(model_id)
        return None if runner is None else runner.model

    def runner(self, model_id: int) -> Runner | None:
        """Return what runs a loaded model."""
        return self._loaded.get(model_id)

    def load_ns(self, model_id: int) -> tuple[int, int]:
        """Return from when to when a model was loaded, Unix ns, also of one that is unloaded."""
        return self._load_ns[model_id]

    def load_from_file(self, path: str) -> tuple[int, int]:
        """Return ``(model_id, code)`` of an ONNX file, under that suffix or ``.om``."""
        return self._load(lambda: open_model(Path(path), _tell))

    def load_from_mem(self, pointer: int, size: int) -> tuple[int, int]:
        """Return ``(model_id, code)`` of the bytes of an ONNX file."""
        if pointer == 0 or size == 0:
            return 0, ReturnCode.INVALID_PARAM
        data = self._memory.read(pointer, size)
        if data is None:
            return 0, ReturnCode.PARAM_INVALID
        return self._load(lambda: parse_model(data, "model"))

    def load_from_file_with_mem(
        self, path: str, work: int, work_size: int, weight: int, weight_size: int
    ) -> tuple[int, int]:
        """Return ``(model_id, code)``; the memory that the program brings is checked, and not needed here."""
        for pointer, size in ((work, work_size), (weight, weight_size)):
            if pointer and self._memory.find(pointer, size) is None:
                return 0, ReturnCode.PARAM_INVALID
        return self.load_from_file(path)

    def load_from_mem_with_mem(
        self, pointer: int, size: int, work: int, work_size: int, weight: int, weight_size: int
    ) -> tuple[int, int]:
        """Return ``(model_id, code)`` of the bytes of an ONNX file; the program's memory is checked, and not needed."""
        for place, room in ((work, work_size), (weight, weight_size)):
            if place and self._memory.find(place, room) is None:
                return 0, ReturnCode.PARAM_INVALID
        return self.load_from_mem(pointer, size)

    def query_size_from_mem(self, pointer: int, size: int) -> tuple[int, int, int]:
        """Return ``(work bytes, weight bytes, code)`` of the bytes of an ONNX file."""
        data = self._memory.read(pointer, size) if pointer and size else None
        if data is None:
            return 0, 0, ReturnCode.PARAM_INVALID if pointer and size else ReturnCode.INVALID_PARAM
        model, code = self._read(lambda: parse_model(data, "model"))
        return (0, 0, code) if model is None else (model.work_bytes, model.weight_bytes, code)

    def get_desc_from_file(self, description: int, path: str) -> int:
        """Fill a description with the model of a file, without loading it."""
        model, code = self._read(lambda: open_model(Path(path), _tell))
        return code if model is None else self._data.describe(description, model)

    def get_desc_from_mem(self, description: int, pointer: int, size: int) -> int:
        """Fill a description with the model of the bytes of a file, without loading it."""
        data = self._memory.read(pointer, size) if pointer and size else None
        if data is None:
            return ReturnCode.INVALID_PARAM
        model, code = self._read(lambda: parse_model(data, "model"))
        return code if model is None else self._data.describe(description, model)

    def _load(self, read: Callable[[], ModelFile]) -> tuple[int, int]:
        if self._devices.current is None:
            return 0, ReturnCode.CONTEXT_NULL
        begin_ns = time.time_ns()
        model, code = self._read(read)
        if model is None:
            return 0, code
        if model.conversion.ignored:
            _tell(f"{model.name}.atc: --{', --'.join(model.conversion.ignored)}: not simulated")
        with self._lock:
            model_id = next(self._ids)
            self._loaded[model_id] = Runner(model, self._split())
            self._load_ns[model_id] = (begin_ns, time.time_ns())
        return model_id, code

    def _read(self, read: Callable[[], ModelFile]) -> tuple[ModelFile | None, int]:
        """Return the model and the code; ``None`` for one that is missing or cannot be read."""
        try:
            return read(), ReturnCode.SUCCESS
        except FileNotFoundError as error:
            self._complain(f"no model file {error}", aloud=True)
            return None, ReturnCode.INVALID_FILE
        except UnreadableModel as error:
            self._complain(str(error), aloud=True)
            return None, ReturnCode.READ_MODEL_FAILURE

    def unload(self, model_id: int) -> int:
        """Give up a model; its subscription lasts until it is ended."""
        return ReturnCode.MODEL_ID_INVALID if self._loaded.pop(model_id, None) is None else ReturnCode.SUCCESS

    def query_size(self, path: str) -> tuple[int, int, int]:
        """Return ``(work bytes, weight bytes, code)``: the tensors between the nodes, and the weights."""
        model, code = self._read(lambda: open_model(Path(path), _tell))
        return (0, 0, code) if model is None else (model.work_bytes, model.weight_bytes, code)

    def get_desc(self, description: int, model_id: int) -> int:
        """Fill a description with a loaded model."""
        return self._data.describe(description, self.get(model_id), model_id)

    def execute(self, model_id: int, inputs: int, outputs: int) -> int:
        """Run a model on the default stream and wait for it."""
        code, stream = self._devices.stream(0)
        return code if stream is None else self._run(model_id, inputs, outputs, stream.number)

    def execute_async(self, model_id: int, inputs: int, outputs: int, handle: int) -> int:
        """Run a model on a stream; the code of a node that fails comes from the call that waits for the stream."""
        code, stream = self._devices.stream(handle)
        if stream is None:
            return code
        code = self._run(model_id, inputs, outputs, stream.number)
        if code == ReturnCode.MODEL_EXECUTE:
            stream.error, code = code, ReturnCode.SUCCESS
        return code

    def _run(self, model_id: int, inputs: int, outputs: int, stream: int) -> int:
        runner = self._loaded.get(model_id)
        feeds, results = self._data.datasets.get(inputs), self._data.datasets.get(outputs)
        if feeds is None or results is None:
            return ReturnCode.INVALID_PARAM
        if runner is None:
            return ReturnCode.MODEL_ID_INVALID
        try:
            done = runner.execute(feeds, results, self._data, self._memory)
        except Refused as refused:
            self._complain(str(refused), aloud=refused.code == ReturnCode.MODEL_EXECUTE)
            return refused.code
        self._threads.last_run = done
        listener = self._listener()
        if listener is not None:
            listener.executed(model_id, stream, done.operators, done.start_ns, done.end_ns)
        return ReturnCode.SUCCESS

    def clear(self) -> None:
        """Give up all models."""
        self._loaded.clear()


def _tell(line: str) -> None:
    say_once(f"acl: {line}")
