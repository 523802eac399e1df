"""Events of a track as packets: one begins each event, one ends it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.arrays import F64, I64, U8, Bools
from drynpu_pages.perfetto._wire import Part, eight_bytes, fixed, joined, message, number, varint, varints
from drynpu_pages.perfetto._words import ARGUMENTS, CATEGORIES, DEPENDENT, NAMES, TEXTS, Words
from drynpu_pages.tracks import TrackNames

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
"""Types of a TrackEvent."""
_TIME_BYTES, _NUMBER_BYTES = 9, 10
_MOST_ARROWS = 200
_UNITS = (("_ns", " (ns)"), ("_bytes", " (bytes)"))


@frozen(eq=False)
class Rows:
    """
    Events of one lane.

    Attributes
    ----------
    arrows:
        Three arrays: where the arrows of each event begin in the last one, how many it has, and all arrows.
    arguments:
        A row for each event; null where nothing is known.
    """

    start_ns: I64
    end_ns: I64
    code: I64
    names: TrackNames
    arrows: tuple[I64, I64, I64]
    arguments: pl.DataFrame


def _packets(count: int, time_ns: I64, event: tuple[Part, ...]) -> bytes:
    times = number(8, varints(time_ns, _TIME_BYTES))
    return joined(count, message(1, *times, DEPENDENT, *message(11, *event)))


def ends(track: int, rows: Rows) -> bytes:
    """Return the packets that end events; an instant has none."""
    lasting = rows.end_ns > rows.start_ns
    event = (*number(9, _END), *number(11, track))
    return _packets(int(lasting.sum()), rows.end_ns[lasting], event)


def begins(track: int, rows: Rows, words: Words) -> Iterator[bytes]:
    """Yield the packets that begin events, events of one form together."""
    used, place = np.unique(rows.code, return_inverse=True)
    name, category = (
        varints(*_with_width(words.numbers(kind, [texts[each] for each in used])[place]))
        for kind, texts in ((NAMES, rows.names.texts), (CATEGORIES, rows.names.kinds))
    )
    columns = {column.name: _argument(column, words) for column in rows.arguments}
    lasting = rows.end_ns > rows.start_ns
    first, count, arrows = rows.arrows
    count = np.minimum(count, _MOST_ARROWS)
    for chosen, there in _forms(lasting, count, rows.arguments):
        some = chosen[0]
        parts = [
            *number(9, _BEGIN if lasting[some] else _INSTANT),
            *number(11, track),
            *number(10, name[chosen]),
            *number(3, category[chosen]),
        ]
        for nth in range(int(count[some])):
            parts += fixed(47, arrows[first[chosen] + nth].astype(np.uint64))
        for argument in there:
            parts += _with_rows(columns[argument], chosen)
        yield _packets(len(chosen), rows.start_ns[chosen], tuple(parts))


def _forms(lasting: Bools, count: I64, arguments: pl.DataFrame) -> Iterator[tuple[I64, list[str]]]:
    """Yield the places of events that have the same parts, with the names of their arguments."""
    there = {column.name: column.is_not_null().to_numpy() for column in arguments}
    form = count * 2 + lasting
    for is_there in there.values():
        if not is_there.all() and is_there.any():
            form = _renumbered(form * 2 + is_there)
    order = np.argsort(form, kind="stable")
    bounds = np.flatnonzero(np.diff(form[order], prepend=-1, append=-1))
    for begin, end in itertools.pairwise(bounds):
        chosen = order[begin:end]
        yield chosen, [name for name, is_there in there.items() if is_there[chosen[0]]]


def _renumbered(form: I64) -> I64:
    """Return the numbers of forms, without gaps once they are large: each argument doubles them."""
    return form if form.max() < 1 << 16 else np.unique(form, return_inverse=True)[1]


def _argument(column: pl.Series, words: Words) -> tuple[bytes, bytes, U8]:
    """Return the name of an argument, the head of its value, and a row of bytes for each event."""
    title = next(
        (column.name.removesuffix(end) + unit for end, unit in _UNITS if column.name.endswith(end)), column.name
    )
    name = joined(1, number(1, int(words.numbers(ARGUMENTS, [title.replace("_", " ")])[0])))
    if column.dtype.is_float():
        return name, varint(5 << 3 | 1), eight_bytes(column.fill_null(0.0).to_numpy().astype(np.float64))
    if column.dtype.is_integer():
        return name, varint(4 << 3), varints(*_with_width(column.fill_null(0).cast(pl.Int64).to_numpy()))
    texts = column.cast(pl.Categorical)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    codes, known = texts.to_physical().fill_null(0).to_numpy(), distinct.to_physical().to_numpy()
    number_of = np.zeros(int(known.max(initial=0)) + 1, np.int64)
    number_of[known] = words.numbers(TEXTS, distinct.cast(pl.String))
    place = number_of[np.where(column.is_null().to_numpy(), known.max(initial=0), codes)]
    return name, varint(17 << 3), varints(*_with_width(place))


def _with_width(values: I64) -> tuple[I64, int]:
    """Return numbers with the bytes that the largest of them needs."""
    return values, len(varint(int(values.max(initial=0)))) if values.min(initial=0) >= 0 else _NUMBER_BYTES


def _with_rows(argument: tuple[bytes, bytes, U8], chosen: I64) -> tuple[Part, ...]:
    name, head, values = argument
    return message(4, name, head, values[chosen])


def samples(track: int, time_ns: I64, value: F64) -> bytes:
    """Return the packets of a counter."""
    event = (*number(9, _COUNTER), *number(11, track), *fixed(44, value))
    return _packets(len(time_ns), time_ns, event)
