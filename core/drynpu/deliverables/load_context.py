"""What the loaders of a record group get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from attrs import frozen

from drynpu._errors import OutputError, RawFormatError
from drynpu.arrays import I64, Records
from drynpu.platforms import Platform, find_platform
from drynpu.raw import ClockAnchors, ProfReader
from drynpu.tables import ToolkitTables
from drynpu.tables.columns import empty, frame
from drynpu.tables.host import Dictionaries
from drynpu.tables.sides import DeviceSide


@frozen(eq=False, kw_only=True)
class LoadContext(ToolkitTables):
    """
    A PROF directory being read: its records, the host's clock, the devices with theirs, and the toolkit's long tables.

    Add a readable line to ``notes`` for whatever had to be left out.
    """

    reader: ProfReader
    words: Dictionaries
    clock: ClockAnchors
    devices: Sequence[DeviceSide]
    notes: list[str]

    @property
    def platform(self) -> Platform:
        """What the chips of the run record."""
        return find_platform(self.reader.host_info.platform_version)

    def calls(self, level: str) -> pl.DataFrame:
        """Return the calls of one level (``API``) without building the other levels."""
        return pl.concat(part.filter(pl.col("level") == level) for part in self._api.slices())

    def settings(self, device_id: int | None = None) -> Mapping[str, Any]:
        """Return sample.json of a device or of the host, empty if it cannot be read."""
        try:
            return self.reader.sample(device_id)
        except (OutputError, RawFormatError):
            return {}

    def each_device(
        self, schemas: Mapping[str, pl.Schema], read: Callable[[DeviceSide], Mapping[str, pl.DataFrame]]
    ) -> dict[str, pl.DataFrame]:
        """Return the tables of *schemas* for all devices by name; *read* returns the data of one device."""
        parts = {name: [empty(schema)] for name, schema in schemas.items()}
        for side in self.devices:
            for name, table in read(side).items():
                parts[name].append(table)
        return {name: pl.concat(tables) for name, tables in parts.items()}

    def samples(
        self,
        kind: str,
        side: DeviceSide,
        schema: pl.Schema,
        unix_ns: Callable[[ClockAnchors, Records], I64] | None = None,
    ) -> pl.DataFrame:
        """
        Return the records of a kind as a table, by time.

        Columns of *schema* are fields of the record; ``device_id`` is the id of *side*, ``time_ns`` is what *unix_ns*
        makes of the device's clock and the records, by default the field ``tick`` as Unix ns.
        """
        records = self.reader.read(kind, side.device_id)
        times = side.clock.tick_to_unix(records["tick"]) if unix_ns is None else unix_ns(side.clock, records)
        known = {"device_id": side.device_id, "time_ns": times}
        columns = {name: known[name] if name in known else records[name] for name in schema}
        return frame(schema, columns).sort("time_ns", maintain_order=True)
