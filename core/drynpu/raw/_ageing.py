"""Keeping a profile below a size: the oldest ageing slices go first (cann_msprof.md 1.3, 2.4)."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from drynpu._errors import OutputError
from drynpu.raw.files import DONE

_MEGABYTE = 1024 * 1024
_LEAST_FREE = 20 * _MEGABYTE
_KEPT = (
    "unaging",
    "hash_dic",
    "training_trace",
    "model_load_info",
    "task_desc_info",
    "id_map_info",
    "fusion_op_info",
    "tensor_data_info",
    "step_info",
)
"""What the names of files that never age hold (hicann/runtime file_ageing); control files are no slices."""

_Stem = tuple[Path, str]


def _free_bytes(directory: Path) -> int:
    return shutil.disk_usage(directory).free


@define
class SliceStore:
    """
    The slices of one directory in the order of their writing.

    Whenever one is added and the slices with their marks take more than ``limit_mb``, or the disk has less than 20 MB
    left, the oldest ageing slices are deleted until neither holds; the last slice of a file always stays, and so do
    all that do not age. A device's records and the text samples age, of the host's records only those that were
    written as ``aging.``.
    """

    limit_mb: int | None = None
    free_bytes: Callable[[Path], int] = _free_bytes
    deleted: list[Path] = field(factory=list, init=False)
    _total: int = field(default=0, init=False)
    _aging: dict[Path, tuple[_Stem, int]] = field(factory=dict, init=False)
    _left: Counter[_Stem] = field(factory=Counter, init=False)

    def add(self, path: Path, stem: str) -> None:
        """
        Take in a slice that was just written with its mark, and delete what has to go for it.

        Raises
        ------
        OutputError
            If a slice that has to go cannot be deleted.
        """
        try:
            size = path.stat().st_size + _mark(path).stat().st_size
            self._total += size
            key = (path.parent, stem)
            self._left[key] += 1
            if not any(part in stem for part in _KEPT):
                self._aging[path] = (key, size)
            self._age(path.parent)
        except OSError as error:
            message = f"Cannot keep {path.parent} below the storage limit: {error}."
            raise OutputError(message) from error

    def _age(self, directory: Path) -> None:
        for path, (key, size) in list(self._aging.items()):
            if not self._is_full(directory):
                return
            if self._left[key] > 1:
                path.unlink(missing_ok=True)
                _mark(path).unlink(missing_ok=True)
                self._total -= size
                self._left[key] -= 1
                self.deleted.append(path)
                del self._aging[path]

    def _is_full(self, directory: Path) -> bool:
        over = self.limit_mb is not None and self._total > self.limit_mb * _MEGABYTE
        return over or self.free_bytes(directory) < _LEAST_FREE


def _mark(path: Path) -> Path:
    return path.with_name(path.name + DONE)
