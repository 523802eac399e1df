"""Files of inputs and results, as the vendor's module reads and writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drynpu.arrays import Array
from drynpu_offline_inference.inference._console import ERROR
from drynpu_offline_inference.inference._failures import GENERAL, failure
from drynpu_offline_inference.inference._model import TensorDescription
from drynpu_offline_inference.inference._tensors import NUMPY_TYPES, Tensor
from drynpu_offline_inference.inference.process import LIBRARY

ZERO, RANDOM = "pure_infer_data_zero", "pure_infer_data_random"
"""Names that stand for inputs without a file."""
_INPUT_SUFFIXES = (".npy", ".bin", ".NPY", ".BIN")
_RANDOM_LIMIT = 255
"""Above all random bytes: 255 would be no number in the bytes of a float."""


def read_input(file: str, size: int) -> Array:
    """
    Return the content of a file: an array, or bytes; zeros or random bytes for the names that stand for them.

    Raises
    ------
    RuntimeError
        It cannot be read.
    """
    if file == ZERO:
        return np.zeros(size, np.uint8)
    if file == RANDOM:
        return np.random.default_rng().integers(0, _RANDOM_LIMIT, size, np.uint8)
    try:
        if file.lower().endswith(".npy"):
            array: Array = np.ascontiguousarray(np.load(file))
            return array
        return np.fromfile(file, np.uint8)
    except (OSError, ValueError) as error:
        raise _refuse(f"Unable to open file {file}: {error}") from error


def result_prefix(folder: str, file: str) -> str:
    """Return how the names of a file's results begin, without the number of the output."""
    name = Path(file).name
    stem = next((name[: -len(suffix)] for suffix in _INPUT_SUFFIXES if name.endswith(suffix)), name)
    return f"{folder}/{stem}_"


def write_result(prefix: str, number: int, tensor: Tensor, form: str) -> None:
    """Write a result as NPY, TXT (a line for each row of the last dim), or as its bytes for any other *form*."""
    array = np.asarray(tensor)
    if form == "NPY":
        np.save(f"{prefix}{number}.npy", array)
    elif form == "TXT":
        rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
        lines = (" ".join(map(_text, row.tolist())) + " \n" for row in rows)
        Path(f"{prefix}{number}.txt").write_text("".join(lines), encoding="utf-8")
    else:
        array.tofile(f"{prefix}{number}.bin")


def join_files(description: TensorDescription, files: Sequence[str], device_id: int) -> Tensor:
    """
    Return a tensor on the device with the bytes of files behind each other; what they leave is 0.

    Raises
    ------
    RuntimeError
        A file is missing or empty, they are larger than the tensor, or its shape is not known.
    """
    if min(description.shape, default=1) < 0:
        raise _refuse(f"{description.name}: the shape {description.shape} is open; use arrays or --run_mode array")
    dtype = NUMPY_TYPES[description.datatype]
    room = np.zeros(int(np.prod(description.shape, dtype=np.int64)) * dtype.itemsize, np.uint8)
    offset = 0
    for file in files:
        try:
            content = np.fromfile(file, np.uint8)
        except OSError as error:
            raise _refuse(f"open file {file} failed: {error}") from error
        if not content.size:
            raise _refuse(f"binfile is empty, filename is {file}")
        if offset + content.size > room.size:
            raise _refuse(f"offset:{offset} filesize:{content.size} > size:{room.size} invalid")
        room[offset : offset + content.size] = content
        offset += content.size
    tensor = Tensor(room.view(dtype).reshape(description.shape))
    tensor.to_device(device_id)
    return tensor


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(int(value))


def _refuse(text: str) -> RuntimeError:
    LIBRARY.console.say(ERROR, text)
    return failure(GENERAL, text)
