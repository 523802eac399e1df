"""The lines of /proc that the monitors of processes and of the system copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl

from drynpu.raw import Row, whole, word

_STAT_FIELDS = 52
"""Fields of /proc/<pid>/stat, of which field 1 is the name in parentheses."""
_FEWEST_TIMES = 7
"""Times that every kernel has; older ones lack the others."""

PROCESSOR = 38
"""Field of /proc/<pid>/stat: where the thread ran last."""
CPU_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""Numbers of a ``cpu`` line of /proc/stat, in clock ticks."""
STATM = ("size_pages", "resident_pages", "shared_pages", "text_pages", "lib_pages", "data_pages", "dirty_pages")
"""Numbers of /proc/<pid>/statm."""


def columns(*names: str, texts: tuple[str, ...] = (), reals: tuple[str, ...] = ()) -> pl.Schema:
    def kind(name: str) -> pl.DataType:
        return pl.String() if name in texts else pl.Float64() if name in reals else pl.Int64()

    return pl.Schema({name: kind(name) for name in names})


def leading(count: int) -> Callable[[Row], Row]:
    """Return the key of a snapshot: the first columns of its rows."""
    return lambda row: row[:count]


def stat_line(thread_id: object, name: object, state: object, fields: dict[int, object]) -> str:
    values = [str(fields.get(at, 0)) for at in range(3, _STAT_FIELDS)]
    return f"{thread_id} ({word(str(name))}) {word(str(state))} {' '.join(values)}\n"


def read_stat(line: str, fields: Sequence[int]) -> Row | None:
    """Read id, name, state and numbered fields of a stat line; a name may hold blanks and parentheses."""
    front, _, back = line.rpartition(") ")
    thread_text, _, name = front.partition(" (")
    rest = back.split()
    if not rest or len(rest) + 2 <= max(fields):
        return None
    values = [whole(thread_text), *(whole(rest[at - 2]) for at in fields)]
    return None if None in values else (values[0], name, rest[0], *values[1:])


def read_numbers(line: str, count: int) -> Row | None:
    values = [whole(text) for text in line.split()]
    return None if None in values or len(values) != count else tuple(values)


def read_cpu(line: str) -> Row | None:
    name, *rest = line.split() or [""]
    values = [whole(text) for text in rest]
    if not re.fullmatch(r"cpu[0-9]{0,9}", name) or None in values or not _FEWEST_TIMES <= len(values) <= len(CPU_TIMES):
        return None
    return name, *values, *[0] * (len(CPU_TIMES) - len(values))
