"""Files of inputs: which of them make up a run, and what is in them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from drynpu.arrays import Array
from drynpu_offline_inference.bench._log import LOGGER, refuse
from drynpu_offline_inference.inference import RANDOM, ZERO

PURE: Final = "pure_infer_data"
PADDING: Final = "padding_infer_fake_file"
"""Names in place of a file: data of a kind that is an option, and the first file again."""
_SUFFIXES = (".npy", ".bin")

Row = list[list[str]]
"""For each input the files whose contents behind each other are its content in one run."""


def natural_sort(names: Sequence[str]) -> list[str]:
    """Return names in order, numbers in them by their value."""
    return sorted(sorted(names), key=lambda name: [_number(part) for part in re.split("([0-9]+)", name)])


def _number(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (0, part.lower())


def get_fileslist_from_dir(dir_: str) -> list[str]:
    """Return the files of a folder that can be inputs."""
    paths = [each.path for each in os.scandir(dir_) if each.is_file() and each.name.lower().endswith(_SUFFIXES)]
    if not paths:
        raise refuse(f"{dir_} of input args not find valid file,valid file format:[*.npy *.NPY *.bin *.BIN]")
    return natural_sort(paths)


def get_file_datasize(file_path: str) -> int:
    """Return the bytes of the data in a file."""
    return _load(file_path).nbytes if file_path.lower().endswith(".npy") else Path(file_path).stat().st_size


def get_file_content(file_path: str) -> Array:
    """Return the array in a file, or its bytes."""
    return _load(file_path) if file_path.lower().endswith(".npy") else np.fromfile(file_path, np.int8)


def _load(file_path: str) -> Array:
    array: Array = np.load(file_path)
    return array


def list_split(list_a: Sequence[str], n: int, padding_file: str | None) -> Iterator[list[str]]:
    """Yield parts of *n* entries; the last is filled up, unless with ``None``."""
    for start in range(0, len(list_a), n):
        part = list(list_a[start : start + n])
        yield part + ([] if padding_file is None else [padding_file] * (n - len(part)))


def get_pure_infer_data(size: int, pure_data_type: str) -> Array:
    """Return so many bytes: ``random``, else zeros."""
    if pure_data_type == "random":
        return np.random.default_rng().integers(0, 256, size, np.uint8)
    return np.zeros(size, np.uint8)


def get_narray_from_files_list(
    files_list: Sequence[str], size: int, pure_data_type: str, no_combine_tensor_mode: bool = False
) -> Array:
    """
    Return the content of the files of one input.

    Raises
    ------
    RuntimeError
        A file is missing, or several do not have *size* bytes together.
    """
    kinds = {PURE: pure_data_type, ZERO: "zero", RANDOM: "random"}
    parts = []
    for file in files_list:
        if file in kinds:
            parts.append(get_pure_infer_data(size, kinds[file]))
            continue
        path = files_list[0] if file == PADDING else file
        if not Path(path).exists():
            raise refuse(f"filepath:{path} not valid")
        parts.append(get_file_content(path))
    if len(parts) == 1:
        return parts[0]
    joined: Array = np.concatenate(parts)
    if not no_combine_tensor_mode and joined.nbytes != size:
        raise refuse(f"ndata size:{joined.nbytes} not match {size}")
    return joined


def create_infileslist_from_inputs_list(
    inputs_list: Sequence[str], intensors_desc: Sequence[Any], no_combine_tensor_mode: bool = False
) -> list[Row]:
    """
    Return the files of each run.

    Several files that are smaller than the first input together make up one run: the batch.

    Parameters
    ----------
    inputs_list:
        A folder for each input, or files: first all files of the first input, then of the second.
    no_combine_tensor_mode:
        Make each file a run of its own.
    """
    columns = _columns(inputs_list, intensors_desc)
    size, wanted = get_file_datasize(columns[0][0]), intensors_desc[0].realsize
    count = 1
    if not no_combine_tensor_mode:
        if size == 0 or wanted % size or wanted < size:
            raise refuse(f"arg0 tensorsize: {wanted} filesize: {size} not match")
        count = wanted // size
    runs = math.ceil(len(columns[0]) / count)
    LOGGER.info(f"get filesperbatch files0 size:{size} tensor0size:{wanted} filesperbatch:{count} runcount:{runs}")
    parts = [list(list_split(column, count, PADDING)) for column in columns]
    return [[part[number] for part in parts] for number in range(runs)]


def create_pipeline_fileslist_from_inputs_list(
    inputs_list: Sequence[str], intensors_desc: Sequence[Any]
) -> list[tuple[str, ...]]:
    """Return a file of each input for each run; files have the sizes of the inputs, unless those are open."""
    columns = _columns(inputs_list, intensors_desc)
    for number, (column, wanted) in enumerate(zip(columns, intensors_desc, strict=True)):
        is_open = wanted.realsize == wanted.size and min(wanted.shape, default=1) <= 0
        if not is_open and get_file_datasize(column[0]) != wanted.realsize:
            raise refuse(
                f"tensor_num:{number} tensorsize:{wanted.realsize} filesize:{get_file_datasize(column[0])} not match"
            )
    return list(zip(*columns, strict=False))


def _columns(inputs: Sequence[str], wanted: Sequence[object]) -> list[list[str]]:
    """Return the files of each input, in the order of the runs."""
    if not inputs:
        raise refuse("Invalid args. Input args are empty")
    kind = Path.is_file if Path(inputs[0]).is_file() else Path.is_dir
    wrong = [each for each in inputs if not kind(Path(each))]
    if wrong:
        raise refuse(f"Invalid args. {wrong[0]} of --input is invalid: name files, or a folder for each input")
    if kind is Path.is_dir:
        columns = [get_fileslist_from_dir(folder) for folder in inputs]
    else:
        columns = list(list_split(inputs, max(len(inputs) // len(wanted), 1), None))
    if len(columns) != len(wanted) or len({len(column) for column in columns}) > 1:
        counts = ", ".join(str(len(column)) for column in columns)
        raise refuse(f"fileslist:{len(columns)} intensor:{len(wanted)} not match; files for each input: {counts}")
    return columns
