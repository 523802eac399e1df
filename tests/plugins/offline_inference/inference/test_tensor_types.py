"""Every type of elements and every kind of memory that ``aclruntime`` names, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("tensor_types.py")
# Numbers of aclDataType (acl_base.h).
TYPES = {
    "bool": ("bool", 12),
    "double": ("float64", 11),
    "float16": ("float16", 1),
    "float32": ("float32", 0),
    "int8": ("int8", 2),
    "int16": ("int16", 6),
    "int32": ("int32", 3),
    "int64": ("int64", 9),
    "uint8": ("uint8", 4),
    "uint16": ("uint16", 7),
    "uint32": ("uint32", 8),
    "uint64": ("uint64", 10),
}


@pytest.fixture(scope="module")
def run(programs: Any, models: Any) -> Any:
    folder = programs.folder()
    inputs = {f"in_{name}": (dtype, [2, 3]) for name, (dtype, _) in TYPES.items()}
    models.save(models.copies(**inputs), folder / "types.om")
    models.save(models.copies(x=("float32", [3])), folder / "one.om")
    return programs(SCRIPT, json.dumps({name: dtype for name, (dtype, _) in TYPES.items()}), folder=folder)


def test_every_type_is_named_and_comes_back_from_every_memory(run: Any) -> None:
    sizes = [6 * np.dtype(dtype).itemsize for dtype, _ in TYPES.values()]
    assert run.printed("described") == [
        [f"in_{name}", name, 2, [2, 3], size, size] for name, size in zip(TYPES, sizes, strict=True)
    ]
    assert run.printed("same") == [[True, True, number] for _, number in TYPES.values()]
    numbers = np.array([[0, 1, 2], [3, 4, 100]])
    expected = [[dtype, numbers.astype(dtype).tolist()] for dtype, _ in TYPES.values()]
    assert run.printed("results") == [expected] * 3, "from the host, the device and the memory of media processing"


def test_tensors_move_between_kinds_of_memory(run: Any) -> None:
    host, device, media = (
        [[True, False, False], "memory_host", -1],
        [[False, True, False], "memory_device", 0],
        [[False, False, True], "memory_dvpp", 0],
    )
    assert run.printed("kinds") == [0, 1, 2]
    assert run.printed("memory") == [
        [*host, [0, 0]],
        [*device, [1, 0]],
        [*media, [0, 0]],  # the same memory: nothing is copied
        [*device, [0, 0]],
        [*host, [0, 1]],
        [*media, [1, 0]],
        [*host, [0, 1]],
    ]
    assert run.printed("moved") == list(range(6))
    assert run.printed("batch_memory") == [["memory_dvpp", 0]] * 2
    assert run.printed("batch") == [[[[5, 5]], [[6, 6]]], [[5, 5], [6, 6]]]
    assert "batch: tensors have to be alike: int8[1, 2] on -1, int8[1, 2] on 0" in run.printed("apart")


def test_addresses_are_read_when_a_session_runs(run: Any) -> None:
    assert run.printed("read") == [[[1, 2, 3], [1, 2, 3]], [[10, 20, 30], [1, 2, 3]]]
    assert run.printed("address") == [True, 12]
    assert "name:x in size:8 needsize:12 not match" in run.printed("short")


def test_a_description_says_what_files_become(run: Any) -> None:
    assert run.printed("joined") == ["int16", 0, [[7, -8, 9], [0, 0, 0]]]
    assert run.printed("bytes") == ["int8", [[7, 0, -8], [-1, 9, 0]]]
    assert "filesize:4 > size:1 invalid" in run.printed("too_many")


def test_sessions_count_their_runs_until_the_library_ends(run: Any) -> None:
    assert run.printed("model") == [True, 1]
    assert run.printed("summary") == [True, True, []]
    assert run.printed("looped") == [True, 2]
    ran, moved = run.printed("finalized")
    assert "SetContext failed: device 1 is not set" in ran
    assert "make an InferenceSession first" in moved
