"""A library of its own for every test, not the process-wide one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import define, field

from drynpu_acl.runtime import Process

H2D, D2H = 1, 2


@define
class Heard:
    """A listener that keeps what it is told."""

    runs: list[tuple[Any, ...]] = field(factory=list)
    copies: list[tuple[int, ...]] = field(factory=list)
    calls: list[str] = field(factory=list)

    def executed(self, *run: Any) -> None:
        self.runs.append(run)

    def memcpy(self, *copy: int) -> None:
        self.copies.append(copy)

    def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[object, ...], waited: int) -> None:
        assert start_ns < end_ns
        self.calls.append(name)


@define
class Library:
    """A library that was begun, with device 0 set, and what the tests of models need of it."""

    process: Process
    folder: Path

    def load(self, model: Any, name: str = "model.om") -> int:
        """Save a model, load it and return its number."""
        path = self.folder / name
        path.write_bytes(model.SerializeToString())
        model_id, code = self.process.models.load_from_file(str(path))
        assert code == 0, self.process.get_recent_err_msg()
        return model_id

    def dataset(self, *arrays: np.ndarray) -> tuple[int, list[int]]:
        """Return a data set of device buffers with these contents, and the buffers' pointers."""
        process, handle, pointers = self.process, self.process.data.create_dataset(), []
        for array in arrays:
            pointer, code = process.malloc(array.nbytes, 0)
            assert code == 0
            source = process.memory.lend(array)
            assert process.memcpy(pointer, array.nbytes, source, array.nbytes, H2D) == 0
            buffer = process.data.create_data_buffer(pointer, array.nbytes)
            assert process.data.add_dataset_buffer(handle, buffer) == (handle, 0)
            pointers.append(pointer)
        return handle, pointers

    def read(self, pointer: int, like: np.ndarray) -> np.ndarray:
        """Return what lies at a pointer as an array like another one."""
        data = self.process.memory.read(pointer, like.nbytes)
        assert data is not None
        return np.frombuffer(data, like.dtype).reshape(like.shape)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.delenv("DRYNPU_CHIP", raising=False)
    monkeypatch.delenv("DRYNPU_DEVICES", raising=False)
    process = Process()
    assert process.init() == 0
    assert process.devices.set_device(0) == 0
    yield Library(process, tmp_path)
    process.finalize()


@pytest.fixture
def heard(library: Library) -> Heard:
    library.process.listener = heard = Heard()
    return heard
