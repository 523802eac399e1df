"""
How numbers become text in the deliverables.

The toolkit has two writers whose numbers look different (cann_msprof.md 4.1): a native one on newer platforms, a
Python one elsewhere. Which of them wrote a file is a value here, so that both remain producible.
Everything takes polars expressions and yields String expressions: nothing is formatted row by row.
"""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from drynpu.platforms import Platform

# Outside these bounds Python's repr switches to an exponent and spells it differently from polars.
UNKNOWN = "N/A"
"""What is shown where a value is neither measured nor modelled, as the vendor shows it."""

_REPR_SMALL = 1e-4
_REPR_LARGE = 1e16

_LOOKED_UP = 1 << 16
"""How many texts of whole numbers and of thousandths are kept: 0 to 65535, and 0.0 to 65.535."""
_EXACT = 1 << 53
"""Below this, floats hold whole numbers as they are."""
_WORTH = 4096
"""Rows from which on a table of these texts is made."""
_FEW = 256
"""Below this, whole numbers of a column are few."""


class Writer(enum.Enum):
    """Which of the toolkit's two writers a file looks like."""

    NATIVE = "native"
    PYTHON = "python"


def toolkit_writer(platform: Platform) -> Writer:
    """Return the writer that the toolkit uses for the chips of *platform* (cann_msprof.md 4)."""
    return Writer.NATIVE if platform.files.native_writer else Writer.PYTHON


@functools.cache
def _fractions() -> pl.Series:
    return pl.Series("fraction", [f".{thousandths:03d}" for thousandths in range(1000)])


@functools.cache
def _short_fractions() -> pl.Series:
    texts = (f".{thousandths:03d}".rstrip("0") for thousandths in range(1000))
    return pl.Series("fraction", [".0" if text == "." else text for text in texts])


def us_text(ns: pl.Expr, suffix: str = "") -> pl.Expr:
    """Return whole non-negative nanoseconds as microseconds with exactly three decimals, then *suffix*."""
    return ns.map_batches(lambda values: _us(values, suffix), return_dtype=pl.String, is_elementwise=True)


def _us(values: pl.Series, suffix: str) -> pl.Series:
    if _are_looked_up(values):
        texts: pl.Series = _us_texts(suffix)[values.cast(pl.UInt32)].alias(values.name)
        return texts
    if values.null_count():
        return values.to_frame().select(_any_us_text(pl.first(), suffix)).to_series()
    # As arrays, because polars makes a query of a division: of few values that takes longer than all the rest.
    whole, thousandths = np.divmod(values.to_numpy(), 1000)
    text: pl.Series = _whole(pl.Series(values.name, whole)) + _fractions()[pl.Series(thousandths.astype(np.uint32))]
    return text + suffix if suffix else text


def _any_us_text(ns: pl.Expr, suffix: str) -> pl.Expr:
    parts = [whole_text(ns // 1000), pl.lit(_fractions()).gather(ns % 1000)]
    return pl.concat_str([*parts, pl.lit(suffix)] if suffix else parts)


@functools.cache
def _us_texts(suffix: str) -> pl.Series:
    """Return the texts of 0, 1, ... nanoseconds up to the most that is looked up."""
    ns = pl.int_range(_LOOKED_UP, dtype=pl.Int64)
    return pl.select(
        pl.concat_str([(ns // 1000).cast(pl.String), pl.lit(_fractions()).gather(ns % 1000), pl.lit(suffix)])
    ).to_series()


def _are_looked_up(values: pl.Series) -> bool:
    """Return whether texts are at hand for whole numbers, and these are so many that it is worth having them."""
    if values.len() < _WORTH or values.null_count():
        return False
    low, high = values.min(), values.max()
    return isinstance(low, int) and isinstance(high, int) and low >= 0 and high < _LOOKED_UP


def whole_text(value: pl.Expr) -> pl.Expr:
    """Return whole numbers as text; texts of small numbers are looked up, which is ten times as fast as making them."""
    return value.map_batches(_whole, return_dtype=pl.String, is_elementwise=True)


def _whole(values: pl.Series) -> pl.Series:
    texts: pl.Series
    if _are_looked_up(values):
        texts = _wholes()[values.cast(pl.UInt32)].alias(values.name)
    else:
        texts = values.cast(pl.String)
    return texts


def whole_words(values: pl.Series) -> pl.Series:
    """Return whole numbers as categories, or as text where they may be many."""
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int) or values.null_count():
        text: pl.Series = values.cast(pl.String)
        return text
    if low == high:
        word: pl.Series = pl.Series(values.name, [str(low)]).cast(pl.Categorical)
        same: pl.Series = word.new_from_index(0, values.len())
        return same
    if low < 0 or high >= _FEW:
        return _whole(values)
    words: pl.Series = _wholes()[:_FEW].cast(pl.Categorical)[values.cast(pl.UInt32)].alias(values.name)
    return words


@functools.cache
def _wholes() -> pl.Series:
    """Return the texts of 0, 1, ... up to the largest that is looked up."""
    texts: pl.Series = pl.int_range(_LOOKED_UP, dtype=pl.Int64, eager=True).cast(pl.String)
    return texts


def decimal_text(thousandths: pl.Expr) -> pl.Expr:
    """
    Return whole thousandths as Python prints the float: ``60.0``, ``5.02``, ``-0.001``.

    Made from digits, not by division: polars divides by a constant through its reciprocal, which shows in the last
    digit (5.0200000000000005).
    """
    sign = pl.when(thousandths < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = thousandths.abs()
    return pl.concat_str([sign, whole_text(size // 1000), pl.lit(_short_fractions()).gather(size % 1000)])


def float_text(value: pl.Expr) -> pl.Expr:
    """Return floats of ordinary size as Python prints them (``60.0``, ``0.125``)."""
    return value.cast(pl.Float64).cast(pl.String)


@functools.cache
def _decimals() -> pl.Series:
    """Return the texts of 0.0, 0.001, ... up to the largest that is looked up."""
    whole = pl.int_range(_LOOKED_UP, dtype=pl.Int64)
    return pl.select(decimal_text(whole)).to_series()


def rounded_text(value: pl.Expr) -> pl.Expr:
    """Return floats rounded to three decimals as Python prints them."""
    return value.cast(pl.Float64).map_batches(_rounded, return_dtype=pl.String, is_elementwise=True)


def _rounded(values: pl.Series) -> pl.Series:
    """Counters are mostly ratios and short times: their text is looked up, which is ten times as fast as making it."""
    array = values.to_numpy()
    absent = np.isnan(array)
    nulls = values.null_count()
    if nulls == values.len():
        return pl.Series(values.name, [None] * nulls, dtype=pl.String)
    if np.count_nonzero(absent) == nulls:  # nulls are the only ones that are no numbers
        thousandths = np.rint(np.where(absent, 0.0, array) * 1000)
        if thousandths.min() >= 0 and thousandths.max() < _LOOKED_UP:
            place = pl.Series(thousandths.astype(np.uint32))
            if nulls:
                place.scatter(np.flatnonzero(absent), None)
            texts: pl.Series = _decimals()[place].alias(values.name)
            return texts
        if not nulls and thousandths.min() >= 0 and thousandths.max() < _EXACT:
            whole, rest = np.divmod(thousandths.astype(np.int64), 1000)
            fractions = _short_fractions()[pl.Series(rest.astype(np.uint32))]
            digits: pl.Series = pl.Series(values.name, whole).cast(pl.String) + fractions
            return digits
    return values.to_frame().select(_any_rounded_text(pl.first())).to_series()


def _any_rounded_text(value: pl.Expr) -> pl.Expr:
    # Beyond the range of Int64 thousandths there are no decimals left in a float to speak of.
    thousandths = (value.cast(pl.Float64) * 1000).round(0).cast(pl.Int64, strict=False)
    return pl.coalesce(decimal_text(thousandths), float_text(value))


def floats_text(values: pl.Series) -> pl.Series:
    """Return floats of any size as Python's ``repr`` prints them; null stays null."""
    text: pl.Series = values.cast(pl.Float64).cast(pl.String)
    size = values.abs()
    odd = values.filter(((size < _REPR_SMALL) & (size > 0)) | (size >= _REPR_LARGE)).unique()
    if not odd.is_empty():
        shown = [repr(value) for value in odd.to_list()]
        text = values.replace_strict(odd, shown, default=text, return_dtype=pl.String)
    return text


def shortest_text(value: pl.Expr) -> pl.Expr:
    """Return floats rounded to three decimals without a trailing ``.0`` (``60``, ``0.341``)."""
    return rounded_text(value).str.strip_suffix(".0")


def duration_text(ns: pl.Expr, writer: Writer) -> pl.Expr:
    """Return nanoseconds as a duration in microseconds: ``60.000`` (native) or ``60.0`` (Python)."""
    return us_text(ns) if writer is Writer.NATIVE else decimal_text(ns)


def wait_text(ns: pl.Expr, writer: Writer) -> pl.Expr:
    """Return a waiting time in microseconds: six decimals (native) or ``940.0`` (Python)."""
    return us_text(ns, "000") if writer is Writer.NATIVE else decimal_text(ns)


def statistic_text(us: pl.Expr, writer: Writer) -> pl.Expr:
    """Return a statistic rounded to three decimals: shortest form (native) or ``60.0`` (Python)."""
    return shortest_text(us) if writer is Writer.NATIVE else rounded_text(us)


def thousandths_text(value: pl.Expr) -> pl.Expr:
    """Return non-negative floats with exactly three decimals."""
    return us_text((value.cast(pl.Float64) * 1000).round(0).cast(pl.Int64))
