"""What a recipe is: a query of each rank's database, and what is made of the answers of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import polars as pl
from attrs import field, frozen

Tables: TypeAlias = Mapping[str, pl.DataFrame]

Query: TypeAlias = "tuple[tuple[str, ...], str, Mapping[str, pl.DataType]]"
"""Tables that the query needs, the query, and the names and types of its columns."""


@frozen
class Recipe:
    """
    One of the vendor's recipes.

    Attributes
    ----------
    name:
        As ``msprof-analyze cluster -m`` spells it.
    queries:
        Table of a rank -> query of its database. Answers are counts and extremes, no events.
    reduce:
        Makes result tables of the tables of all ranks, each with a column ``rank``; called only if all have rows.
    """

    name: str
    queries: Mapping[str, Query] = field(hash=False)
    reduce: Callable[[Tables], Mapping[str, pl.DataFrame]]
