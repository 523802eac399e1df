"""What a reader of results gives: tables of a profile, derived tables as their files state them, facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from attrs import field, frozen


@frozen(eq=False, kw_only=True)
class ResultTables:
    """
    Tables of one source.

    Attributes
    ----------
    tables:
        By their name in ``Profile``, further tables by their name in ``Profile.schemas``.
    derived:
        What the vendor's tools worked out: by the name of the function of ``analysis`` that gives the same.
    facts:
        Fields of ``Profile``, as far as the source tells them.
    """

    tables: Mapping[str, pl.DataFrame] = field(factory=dict)
    derived: Mapping[str, pl.DataFrame] = field(factory=dict)
    others: Mapping[str, pl.DataFrame] = field(factory=dict)
    """What no table of a profile is for, as it stands: by the name of the file, or of the table in a database."""
    facts: Mapping[str, Any] = field(factory=dict)
    notes: tuple[str, ...] = ()


def first_known(sources: Sequence[ResultTables]) -> ResultTables:
    """Return each table and fact from the first of *sources* that has it; a table has rows."""
    tables: dict[str, pl.DataFrame] = {}
    derived: dict[str, pl.DataFrame] = {}
    others: dict[str, pl.DataFrame] = {}
    facts: dict[str, Any] = {}
    for source in reversed(sources):
        tables |= {name: table for name, table in source.tables.items() if table.height}
        derived |= {name: table for name, table in source.derived.items() if table.height}
        others |= source.others
        facts |= {name: fact for name, fact in source.facts.items() if fact or name == "rank_id"}
    notes = tuple(note for source in sources for note in source.notes)
    return ResultTables(tables=tables, derived=derived, others=others, facts=facts, notes=notes)
