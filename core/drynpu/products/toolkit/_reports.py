"""
Which layers of the timeline are wanted, by the words of the file that ``--reports`` names (cann_msprof.md 6.2).

A layer is known by the number in its encoded process id (cann_msprof.md 4.5). Tasks, rows of the step trace and marks
on streams share the process of Ascend Hardware and are known by the record group that makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson
import polars as pl
from attrs import evolve, field, frozen

from drynpu.writers.trace_json import Events

Block = Events | Sequence[str]

# Ascend Hardware: the one layer whose events come from several record groups.
_HARDWARE = 14
_KEYS: Mapping[int, str] = {
    6: "msproftx",
    7: "cann",
    9: "cpu_usage",
    10: "memory_usage",
    11: "network_usage",
    12: "disk_usage",
    13: "os_runtime_api",
    _HARDWARE: "ascend",
    15: "freq",
    16: "communication",
    17: "npu_mem",
    18: "ddr",
    19: "acc_pmu",
    20: "hccs",
    21: "nic",
    22: "roce",
    23: "pcie",
    24: "hbm",
    25: "stars_soc",
    26: "stars_chip_trans",
    27: "llc",
    28: "sio",
    29: "qos",
    30: "ccu",
    31: "overlap_analyse",
    32: "biu_perf",
    33: "ub",
    34: "block_detail",
}
_OF_GROUPS = {"graph": "step_trace", "marks": "device_tx"}
"""Record group -> the word for its rows in the process of Ascend Hardware."""
# Timelines of their own go by the word of the layer that they repeat.
_OF_FILES = {"step_trace": "step_trace", "msprof_tx": "msproftx"}

REPORT_KEYS: tuple[str, ...] = (*_KEYS.values(), *_OF_GROUPS.values(), "low_power")
"""The words of the file. ``low_power`` is another word for ``freq`` (Ascend/msprof timeline_manager.cpp)."""


@frozen
class Reports:
    """The wanted layers by their words; ``None`` for all. ``warnings`` names parts of the file that do not count."""

    wanted: frozenset[str] | None = None
    warnings: tuple[str, ...] = field(default=(), eq=False)

    def wants_file(self, stem: str) -> bool:
        """Return whether a timeline file of its own (``step_trace``, ``msprof_tx``) is wanted."""
        return self.wanted is None or _OF_FILES.get(stem, stem) in self.wanted

    def only(self, blocks: Iterable[Block], pid: int, group: str = "") -> Iterator[Block]:
        """Yield what is wanted of *blocks*, which the record group *group* has for process *pid*."""
        if self.wanted is None:
            yield from blocks
            return
        numbers = [number for number in _KEYS if self._key(number, group) in self.wanted]
        for block in blocks:
            kept = _events(block, numbers, pid) if isinstance(block, Events) else _texts(block, numbers, pid)
            if kept is not None:
                yield kept

    def _key(self, number: int, group: str) -> str:
        return _OF_GROUPS.get(group, _KEYS[number]) if number == _HARDWARE else _KEYS[number]


def _layer(encoded: int, pid: int) -> int:
    # Numbers of 32 and more run over into the part of the process id, so that part is taken off as a number.
    return (encoded - (pid << 10)) >> 5


def _events(block: Events, numbers: Sequence[int], pid: int) -> Events | None:
    encoded = block.members["pid"]
    if isinstance(encoded, str):
        return block if _layer(int(encoded), pid) in numbers else None
    assert isinstance(encoded, pl.Expr)
    layer = (encoded - (pid << 10)) // 32
    prepare, wanted = block.prepare, layer.is_in(numbers)

    def chosen(rows: pl.DataFrame) -> pl.DataFrame:
        return (rows if prepare is None else prepare(rows)).filter(wanted)

    return evolve(block, prepare=chosen)


def _texts(block: Sequence[str], numbers: Sequence[int], pid: int) -> Sequence[str] | None:
    kept = [text for text in block if _layer(int(orjson.loads(text)["pid"]), pid) in numbers]
    return kept or None
