"""
Trace events as JSON text, column by column.

An event is described once as a template (names, constants and column expressions); rows become text by one string
concatenation per chunk. Only distinct texts that need escaping pass through a JSON encoder.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import orjson
import polars as pl
from attrs import frozen
from polars.selectors import categorical

from drynpu._alone import each_alone
from drynpu._say import say
from drynpu.writers._in_turn import in_turn
from drynpu.writers.files import new_file
from drynpu.writers.text_table import Rows

CHUNK_ROWS = 32_768
_FEW = 2048
"""Texts that are joined and looked through faster in Python than by a query of polars, which other threads answer."""
_NEEDS_ESCAPE = r'["\\\x00-\x1f]'


@frozen
class JsonStyle:
    """The two separators of JSON text."""

    comma: str
    colon: str


COMPACT = JsonStyle(",", ":")
"""As the native writer of the toolkit."""
SPACED = JsonStyle(", ", ": ")
"""As Python's ``json.dumps``, which writes trace_view.json."""


@frozen
class Present:
    """Members that only some rows have; must not come first in their object."""

    condition: pl.Expr
    members: Mapping[str, Value]


Value: TypeAlias = "str | pl.Expr | tuple[str | pl.Expr, ...] | Mapping[str, Value] | Present"
"""JSON text, an expression that yields JSON text, a concatenation of those, an object, or optional members."""


@frozen
class Events:
    """
    Rows and the template that turns each into one JSON object (or several, when *followed_by* is given).

    ``texts`` names the String columns that the template uses as JSON strings: they are quoted and escaped.
    ``followed_by`` is a second object after the first, in the rows where its condition holds.
    ``prepare`` adds the columns that only the template needs; it gets the rows that are written next, and may leave
    some of them out.
    Texts that are categories are there as such when the template is filled in.
    """

    rows: pl.DataFrame | Rows
    members: Mapping[str, Value]
    texts: tuple[str, ...] = ()
    followed_by: tuple[pl.Expr, Mapping[str, Value]] | None = None
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None

    def render(self, style: JsonStyle, offset: int, count: int) -> pl.Series:
        """Return the JSON text of *count* rows from *offset* on. Rows without a value that is needed are left out."""
        chunk = self.rows.slice(offset, count)
        if pl.Categorical in chunk.dtypes:
            chunk = chunk.with_columns(categorical().cast(pl.String))
        chunk = chunk if self.prepare is None else self.prepare(chunk)
        if self.texts:
            chunk = chunk.with_columns(json_strings(chunk[name]) for name in self.texts)
        parts = _object(self.members, style)
        if self.followed_by is not None:
            condition, members = self.followed_by
            flow = _concat([style.comma, *_object(members, style)])
            parts.append(pl.when(condition).then(flow).otherwise(pl.lit("")))
        text = _concat(parts).alias("event")
        texts = chunk.select(text).to_series()
        if count := texts.null_count():
            lacking = [name for name in dict.fromkeys(text.meta.root_names()) if chunk[name].null_count()]
            say(f"WARNING: events of a timeline left out for want of {' or '.join(lacking)}: {count}")
        return texts.drop_nulls()


def constant(value: object) -> str:
    """Return the JSON text of a value that all rows share."""
    return orjson.dumps(value).decode()


def json_strings(values: pl.Series) -> pl.Series:
    """Return the JSON string of each text, quotes included."""
    distinct = values.unique()
    texts: pl.Series = (pl.Series(['"']) + values + '"').alias(values.name)
    odd = _needing_escape(distinct)
    if odd:
        escaped = [orjson.dumps(text).decode() for text in odd]
        texts = values.replace_strict(pl.Series(odd), escaped, default=texts, return_dtype=pl.String)
    return texts


def _needing_escape(texts: pl.Series) -> list[str]:
    """Return the texts that need escaping; of few ones one look at all of them is quicker than a query of polars."""
    if len(texts) > _FEW:
        return list(texts.filter(texts.str.contains(_NEEDS_ESCAPE)))
    listed = [text for text in texts.to_list() if text is not None]
    if not re.search(_NEEDS_ESCAPE, "".join(listed)):
        return []
    return [text for text in listed if re.search(_NEEDS_ESCAPE, text)]


def _object(members: Mapping[str, Value], style: JsonStyle) -> list[str | pl.Expr]:
    parts: list[str | pl.Expr] = ["{"]
    for position, (key, value) in enumerate(members.items()):
        comma = style.comma if position else ""
        if isinstance(value, Present):
            inner = _object(value.members, style)[1:-1]
            parts.append(pl.when(value.condition).then(_concat([comma, *inner])).otherwise(pl.lit("")))
            continue
        parts.append(f"{comma}{constant(key)}{style.colon}")
        if isinstance(value, Mapping):
            parts.extend(_object(value, style))
        elif isinstance(value, tuple):
            parts.extend(value)
        else:
            parts.append(value)
    return [*parts, "}"]


def _concat(parts: Sequence[str | pl.Expr]) -> pl.Expr:
    merged: list[pl.Expr] = []
    literal = ""
    for part in parts:
        if isinstance(part, str):
            literal += part
            continue
        if literal:
            merged.append(pl.lit(literal))
            literal = ""
        merged.append(part)
    if literal:
        merged.append(pl.lit(literal))
    return pl.concat_str(merged)


def write_trace(path: Path, blocks: Iterable[Events | Sequence[str]], style: JsonStyle) -> bool:
    """
    Write the events of all blocks as one JSON array on one line, packed if *path* ends in ``.gz``.

    Returns whether there were any.

    A block is ``Events`` or a sequence of JSON texts. Memory use is bounded by the chunk size. No file is left when
    there are no events. Raises ``OutputError``.
    """
    with new_file(path) as file, _packed(file, path) as stream:
        stream.write(b"[")
        written = 0
        for block in blocks:
            for count, text in each_alone(f"a layer of {path.name}", functools.partial(_texts, block, style)):
                stream.write(style.comma.encode() if count and written else b"")
                stream.write(text)
                written += count
        stream.write(b"]")
    if not written:
        path.unlink()
    return bool(written)


@contextlib.contextmanager
def _packed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file) as stream:
        yield cast(BinaryIO, stream)


def _texts(block: Events | Sequence[str], style: JsonStyle) -> Iterable[tuple[int, bytes]]:
    """Return the parts of a block: how many events each has, and their text."""
    if not isinstance(block, Events):
        return [(len(block), style.comma.join(block).encode())]
    offsets = range(0, block.rows.height, CHUNK_ROWS)
    return in_turn([functools.partial(_joined_events, block, style, offset) for offset in offsets])


def _joined_events(block: Events, style: JsonStyle, offset: int) -> tuple[int, bytes]:
    """Return how many events a part of a block has, and their text."""
    text = block.render(style, offset, CHUNK_ROWS)
    if len(text) <= _FEW:
        return len(text), style.comma.join(text.to_list()).encode()
    # As bytes, which are there already: a Python text would be made of them and encoded again.
    return len(text), text.str.join(style.comma).cast(pl.Binary).item()
