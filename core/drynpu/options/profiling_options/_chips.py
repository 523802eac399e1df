"""What differs from chip to chip in the options of the collector."""

from __future__ import annotations

import enum

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._values import MetricGroup

__all__ = ["ChipFamily", "metric_groups", "resolve_family"]


class ChipFamily(enum.Enum):
    """Chips that take the same options; the value is the text of info.json ``platform_version``."""

    ASCEND_310 = "0"
    ASCEND_910 = "1"
    ASCEND_310P = "4"
    ASCEND_A2_A3 = "5"
    """910B and 910_93."""
    ASCEND_310B = "7"
    ASCEND_950 = "15"

    @property
    def label(self) -> str:
        """Readable name for messages."""
        return _LABELS[self]

    @property
    def has_l3(self) -> bool:
        """
        Whether ``task_time`` takes ``l3`` (cann_msprof.md 1.3 "where supported").

        The public collector lists it for the A2/A3 and 950 platforms.
        """
        return self in (ChipFamily.ASCEND_A2_A3, ChipFamily.ASCEND_950)


_LABELS = {
    ChipFamily.ASCEND_310: "Ascend310",
    ChipFamily.ASCEND_910: "Ascend910",
    ChipFamily.ASCEND_310P: "Ascend310P",
    ChipFamily.ASCEND_A2_A3: "Ascend910B/A3",
    ChipFamily.ASCEND_310B: "Ascend310B",
    ChipFamily.ASCEND_950: "Ascend950",
}

# Longest prefix first: 310P and 310B before 310, 910B and 910_93 before 910.
_NAME_PREFIXES = (
    ("310p", ChipFamily.ASCEND_310P),
    ("310b", ChipFamily.ASCEND_310B),
    ("910b", ChipFamily.ASCEND_A2_A3),
    ("910_93", ChipFamily.ASCEND_A2_A3),
    ("a2", ChipFamily.ASCEND_A2_A3),
    ("a3", ChipFamily.ASCEND_A2_A3),
    ("310", ChipFamily.ASCEND_310),
    ("910", ChipFamily.ASCEND_910),
    ("950", ChipFamily.ASCEND_950),
)

_COMMON = (
    MetricGroup.ARITHMETIC_UTILIZATION,
    MetricGroup.PIPE_UTILIZATION,
    MetricGroup.MEMORY,
    MetricGroup.MEMORY_L0,
    MetricGroup.MEMORY_UB,
    MetricGroup.RESOURCE_CONFLICT_RATIO,
)
# cann_msprof.md 1.8; the 310 has no column there and is taken to have the common six.
_EXTRA = {
    ChipFamily.ASCEND_A2_A3: (MetricGroup.L2_CACHE, MetricGroup.MEMORY_ACCESS),
    ChipFamily.ASCEND_950: (MetricGroup.L2_CACHE,),
    ChipFamily.ASCEND_310B: (MetricGroup.L2_CACHE, MetricGroup.PIPELINE_EXECUTE_UTILIZATION),
}


def resolve_family(chip: str) -> ChipFamily:
    """
    Return the family of *chip*.

    Parameters
    ----------
    chip:
        A ``platform_version`` (``"5"``), a family name (``910B``, ``A2``) or a SoC name (``Ascend910B2``).
        Platform version 16 (v6.2.0) takes the options of the 950.

    Raises
    ------
    OptionError
        When the text names no family with known options.
    """
    if chip == "16":
        return ChipFamily.ASCEND_950
    if chip.isdecimal() and chip in {family.value for family in ChipFamily}:
        return ChipFamily(chip)
    name = chip.casefold().removeprefix("ascend")
    for prefix, family in _NAME_PREFIXES:
        if name.startswith(prefix):
            return family
    known = [*(family.label for family in ChipFamily), *(family.value for family in ChipFamily)]
    raise OptionError([f"chip: {chip!r} is no chip family; allowed: {', '.join(known)}.{did_you_mean(chip, known)}"])


def metric_groups(family: ChipFamily) -> tuple[MetricGroup, ...]:
    """Return the counter groups that *family* has, in the order of cann_msprof.md 1.8, without ``NONE``."""
    return _COMMON + _EXTRA.get(family, ())
