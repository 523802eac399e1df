"""Memory by category over time, from PyTorch's own analysis of the recording (torch_npu_profiler.md 4.15)."""

from __future__ import annotations

import base64
import gzip
import importlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attrs import frozen
from torch.profiler._memory_profiler import Action, Category, MemoryProfile, TensorKey

from drynpu.arrays import I64
from drynpu.writers import new_file
from drynpu_torch.device import npu
from drynpu_torch.profiler._messages import print_error

CATEGORIES = (
    "PARAMETER",
    "OPTIMIZER_STATE",
    "INPUT",
    "TEMPORARY",
    "ACTIVATION",
    "GRADIENT",
    "AUTOGRAD_DETAIL",
    "UNKNOWN",
)
"""Kinds of memory in the order of the file's columns."""
# Numbers of the actions in the file with single events.
_CODES = {
    action: code
    for code, action in enumerate((Action.PREEXISTING, Action.CREATE, Action.INCREMENT_VERSION, Action.DESTROY))
}
_INDEX: dict[Category | None, int] = {
    **{Category[name]: index for index, name in enumerate(CATEGORIES[:-1])},
    None: len(CATEGORIES) - 1,
}


@frozen(eq=False)
class MemoryTimeline:
    """
    Memory events in time order; every column has shape ``[n]``.

    ``time_ns`` is Unix time, -1 for memory that was there before the recording; ``size_bytes`` is negative where
    memory of that category goes. A tensor that is written to leaves its category and enters the category of its next
    version.
    """

    time_ns: I64
    action: I64
    size_bytes: I64
    category: I64

    @classmethod
    def from_results(
        cls, results: Sequence[Any], time_map: Callable[[I64], I64], device: torch.device | None
    ) -> MemoryTimeline:
        """
        Return the classified events of Kineto's results for *device*; ``None``: all, where tensors do not say theirs.

        *time_map* maps measured times to times in the files.
        """
        live: dict[int, tuple[int, int]] = {}
        rows = [row for result in results for row in _rows(MemoryProfile(result), device, live)]
        columns = np.array(rows, np.int64).reshape(-1, 4)
        time_ns = np.where(columns[:, 0] < 0, -1, time_map(columns[:, 0]))
        return cls(time_ns, columns[:, 1], columns[:, 2], columns[:, 3])

    def sums(self) -> tuple[list[int], list[list[int]]]:
        """Return times in us, ascending, and for each 9 sizes in bytes: a 0, then one per category."""
        time_us = np.where(self.time_ns < 0, -1, self.time_ns // 1000)
        times, row = np.unique(time_us, return_inverse=True)
        sizes = np.zeros((len(times), len(CATEGORIES) + 1), np.int64)
        np.add.at(sizes, (row, self.category + 1), self.size_bytes)
        real = times[times >= 0]
        if len(real):
            times[times < 0] = real[0]
        return times.tolist(), np.cumsum(sizes, axis=0).tolist()

    def events(self) -> list[list[int]]:
        """Return ``[time ns, action, bytes, category]`` of every event."""
        rows: list[list[int]] = np.stack([self.time_ns, self.action, self.size_bytes, self.category], axis=1).tolist()
        return rows

    def write(self, path: Path) -> None:
        """Write a page, sums or single events, by the ending of *path*. Raises `OutputError`."""
        if path.name.endswith(".html"):
            page = self._page()
            if page is not None:
                _write(path, page.encode())
            return
        document = self.events() if path.name.endswith("raw.json.gz") else self.sums()
        text = json.dumps(document).encode()
        _write(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)

    def _page(self) -> str | None:
        """Return a page with a stacked picture of the sums; ``None`` where matplotlib is missing."""
        try:
            pyplot = importlib.import_module("matplotlib.pyplot")
        except ImportError:
            print_error("matplotlib.pyplot was not found.")
            return None
        times, sizes = self.sums()
        picture = io.BytesIO()
        figure, axes = pyplot.subplots(figsize=(20, 12))
        elapsed_ms = (np.array(times) - times[0]) / 1000
        axes.stackplot(elapsed_ms, np.array(sizes)[:, 1:].T / 1024**3, labels=CATEGORIES)
        axes.set_xlabel("Time (ms)")
        axes.set_ylabel("Memory (GB)")
        axes.legend(loc="upper left")
        peaks = (npu.max_memory_allocated(), npu.max_memory_reserved())
        allocated, reserved = (f"{peak / 1024**3:.2f} GB" for peak in peaks)
        title = f"Max memory allocated: {allocated}, max memory reserved: {reserved}"
        axes.set_title(title)
        figure.savefig(picture, format="png")
        pyplot.close(figure)
        data = base64.b64encode(picture.getvalue()).decode()
        return (
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Memory timeline</title></head>\n'
            f'<body><img alt="{title}" src="data:image/png;base64,{data}"></body></html>\n'
        )


_Row = tuple[int, int, int, int]
"""Time, action, bytes, category."""


def _rows(profile: Any, device: torch.device | None, live: dict[int, tuple[int, int]]) -> list[_Row]:
    """Return the rows of one result; *live* has size and category of the memory that earlier ones left, by address."""
    rows: list[_Row] = []
    timeline = [entry for entry in profile.timeline if device in (None, entry[2][0].device)]
    begin_ns = min((time_ns for time_ns, *_ in timeline if time_ns >= 0), default=-1)
    for time_ns, action, (key, version), size in timeline:
        before, after = _category(profile, key, version), _category(profile, key, version + 1)
        code = _CODES[action]
        address = key.storage.ptr if isinstance(key, TensorKey) else 0
        known = live.pop(address, None)
        if action is Action.INCREMENT_VERSION:
            rows += [(time_ns, code, -size, before), (time_ns, code, size, after)]
        elif action is Action.DESTROY:
            rows.append((time_ns, code, -size, before))
            continue
        elif action is Action.PREEXISTING and known is not None and known[0] == size:
            # What a cut of the recording divides: this result may take it for another category.
            code, category = _CODES[Action.INCREMENT_VERSION], known[1]
            rows += [(begin_ns, code, -size, category), (begin_ns, code, size, before)] if category != before else []
        else:
            rows.append((time_ns, code, size, before))
        if address:
            live[address] = size, after if action is Action.INCREMENT_VERSION else before
    return rows


def _category(profile: Any, key: object, version: int) -> int:
    # Memory without a tensor that PyTorch knows has a plain key, and no category.
    return _INDEX[profile._categories.get(key, version) if isinstance(key, TensorKey) else None]


def _write(path: Path, data: bytes) -> None:
    with new_file(path) as stream:
        stream.write(data)
