"""How many raw bytes a request leaves per kernel, operator, step and second: an estimate from the option table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from drynpu.options import Condition, OptionRow, ProfilingRequest, fixed_hz, option_rows, value_at
from drynpu.options.profiling_options import series_among
from drynpu.platforms import DEFAULT_CHIP, resolve_series

KERNEL, OPERATOR, STEP, SECOND = "kernel", "operator", "step", "second"

_SIDES = {KERNEL: "device", OPERATOR: "host", STEP: "device", SECOND: "device"}
"""What has to be recorded for records of that kind, except records of items of the host."""


@frozen
class RecordCost:
    """
    One kind of record: how many bytes of it one kernel, operator, step or second leaves, and which option asks for it.

    ``per`` is ``kernel``, ``operator``, ``step`` or ``second``.
    """

    record: str
    option: str
    per: str
    bytes: float


@frozen
class Footprint:
    """The estimate with its parts."""

    parts: tuple[RecordCost, ...]

    @property
    def bytes_per_kernel(self) -> float:
        """Raw bytes under ``PROF_*`` per kernel."""
        return self._per(KERNEL)

    @property
    def bytes_per_operator(self) -> float:
        """Raw bytes under ``FRAMEWORK/`` per framework operator."""
        return self._per(OPERATOR)

    @property
    def bytes_per_second(self) -> float:
        """Raw bytes of the items sampled by time, per second of recording."""
        return self._per(SECOND)

    def _per(self, per: str) -> float:
        return sum(part.bytes for part in self.parts if part.per == per)

    def of_option(self, option: str, per: str) -> float:
        """Return the share of one option path; *per* is ``kernel``, ``operator``, ``step`` or ``second``."""
        return sum(part.bytes for part in self.parts if part.option == option and part.per == per)


def estimate_footprint(request: ProfilingRequest, chip: str = DEFAULT_CHIP) -> Footprint:
    """
    Estimate the raw bytes per kernel, operator, step and second; *chip* decides what is sampled.

    The records of every option stand in the option table, with the sizes of cann_msprof.md 7.3 and 7.4 and
    torch_npu_profiler.md 3.7. Lengths of texts, events per operator and what one sample of an item holds are
    assumptions about an average operator and chip; the table says which. User marks, the records of instruction
    profiling and the files of communication depend on none of these counts and are left out.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    here = resolve_series(chip)
    return Footprint(tuple(cost for row in option_rows().values() for cost in _costs(row, request, here)))


def _costs(row: OptionRow, request: ProfilingRequest, here: str) -> Iterator[RecordCost]:
    for entry in row.bytes:
        per = entry["per"]
        side = None if "item" in entry else _SIDES[per]
        condition = Condition.of_entry(row, entry, side=side, level="l0" if per == KERNEL else "none")
        chips = series_among(entry.get("platforms"), entry.get("not_platforms"))
        if here in chips and condition.holds(request):
            how_often = _rate(row, entry, request) if per == SECOND else 1
            yield RecordCost(entry["record"], row.path, per, how_often * _size(entry))


def _size(entry: Mapping[str, Any]) -> float:
    sizes = entry["size"]
    size: float = entry.get("count", 1) * (sum(sizes) if isinstance(sizes, list) else sizes)
    return size / entry["samples_per_record"] if "samples_per_record" in entry else size


def _rate(row: OptionRow, entry: Mapping[str, Any], request: ProfilingRequest) -> float:
    """Return how many samples a second has."""
    value = value_at(request, entry.get("hz", row.path))
    # A list of items has no rate of its own.
    rate: float = value if isinstance(value, int) else fixed_hz(row.path)
    most = row.range.high if row.range and row.wide_range and not entry.get("above_100_hz") else None
    return rate if most is None else min(rate, most)
