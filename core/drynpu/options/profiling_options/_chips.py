"""What differs from chip to chip in the options of the collector."""

from __future__ import annotations

import enum

from drynpu.options._values import MetricGroup
from drynpu.options.profiling_options._names import METRIC_NAMES
from drynpu.platforms import find_platform, resolve_platform, resolve_series


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
        return find_platform(self.value).label

    @property
    def has_l3(self) -> bool:
        """
        Whether ``task_time`` takes ``l3`` (cann_msprof.md 1.3 "where supported").

        The public collector lists it for the A2/A3 and 950 platforms.
        """
        return self in (ChipFamily.ASCEND_A2_A3, ChipFamily.ASCEND_950)


class ChipClass(enum.Enum):
    """
    Chips that leave the same files: the families, with A2 and A3 apart.

    The two share a platform version and all options; the inter-die link (SIO) is the A3's.
    """

    ASCEND_310 = "310"
    ASCEND_310B = "310B"
    ASCEND_310P = "310P"
    ASCEND_910 = "910"
    ASCEND_A2 = "A2"
    """910B."""
    ASCEND_A3 = "A3"
    """910_93."""
    ASCEND_950 = "950"

    @property
    def family(self) -> ChipFamily:
        """The family whose options it takes."""
        return resolve_family(self.value)


_COMMON = (
    MetricGroup.ARITHMETIC_UTILIZATION,
    MetricGroup.PIPE_UTILIZATION,
    MetricGroup.MEMORY,
    MetricGroup.MEMORY_L0,
    MetricGroup.MEMORY_UB,
    MetricGroup.RESOURCE_CONFLICT_RATIO,
)
# cann_msprof.md 1.8; the 310 has no column there: the collector lists the common six for it (hicann/oam-tools
# profimpl/platform/mini_platform.cpp).
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
    return ChipFamily(resolve_platform(chip).family)


def resolve_class(chip: str) -> ChipClass:
    """
    Return the class of *chip*, which is anything that `resolve_family` takes.

    What does not tell A2 and A3 apart (platform version ``5``) is an A2. Raises `OptionError`.
    """
    return ChipClass(resolve_series(chip))


def default_metric_group(family: ChipFamily) -> MetricGroup:
    """Return the group that acl.json and the msprof command collect when none is named (cann_msprof.md 1.6)."""
    name = find_platform(family.value).default_metric_group
    return next(group for group, spelling in METRIC_NAMES.items() if spelling == name)


def metric_groups(family: ChipFamily) -> tuple[MetricGroup, ...]:
    """Return the counter groups that *family* has, in the order of cann_msprof.md 1.8, without ``NONE``."""
    return _COMMON + _EXTRA.get(family, ())
