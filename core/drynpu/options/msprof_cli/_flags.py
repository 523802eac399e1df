"""The collection switches of ``msprof``, from the option table (cann_msprof.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from drynpu.options._table import Kind, LazyTable, OptionRow, kind_of_word, option_rows
from drynpu.options.profiling_options import Key, range_facts, series_among


@frozen(kw_only=True)
class Flag(Key):
    """
    One switch, by its name without the two hyphens; its path may be ``launch.<field>`` of `Launch`, or ``""`` for none.

    Attributes
    ----------
    help:
        One sentence; the default and the range are not in it.
    default:
        What counts when it is left out, as it would be written; ``""`` where there is no such text.
    needs:
        The switch that must be on for it to count.
    with_application, without_application:
        Whether it counts in a run with an application, and in one that samples the system only.
    """

    help: str
    default: str = ""
    needs: str = ""
    with_application: bool = True
    without_application: bool = True

    @property
    def option(self) -> str:
        """As it is typed: ``--name``."""
        return f"--{self.name}"

    @property
    def in_request(self) -> bool:
        """Whether it has a place in the request, not only in what is said about the run."""
        return bool(self.path) and not self.path.startswith("launch.")


def _flags() -> Mapping[str, Flag]:
    return {flag.name: flag for row in option_rows().values() for flag in _flags_of_row(row)}


def _flags_of_row(row: OptionRow) -> Iterator[Flag]:
    switch = ""
    for name, entry in row.msprof.items():
        facts: dict[str, Any] = {
            "kind": kind_of_word(entry["kind"]) if "kind" in entry else row.kind,
            "help": entry.get("help", ""),
            "default": str(entry.get("default", "")),
            "needs": entry.get("needs", ""),
            "path": row.path if entry.get("value", True) else "",
        }
        if "item" in entry:
            switch = name
            facts |= {"kind": Kind.SWITCH, "help": f"Sample {entry['item']}.", "path": ""}
            facts["default"] = facts["default"] or "off"
        elif switch:
            facts |= {"help": f"How often --{switch} samples.", "needs": switch}
        yield Flag(
            name=name,
            series=series_among(**row.platforms_of(entry)),
            note=entry.get("note", ""),
            with_application=entry.get("only") != "system",
            without_application=entry.get("only") != "application",
            **facts,
            **(range_facts(row) if facts["path"] else {}),
        )


FLAGS: Mapping[str, Flag] = LazyTable(_flags)
"""All flags by name, in the order of a usage text."""


def sampled_items() -> dict[Flag, Flag]:
    """Return the switch of each item sampled by time -> its rate; counters of the cores have rules of their own."""
    rates = (flag for flag in FLAGS.values() if flag.path.endswith("_hz") and flag.needs and flag.needs != "ai-core")
    return {FLAGS[rate.needs]: rate for rate in rates if not FLAGS[rate.needs].path}
