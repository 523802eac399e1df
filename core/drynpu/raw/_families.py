"""The record families of a ``PROF_XXX`` directory: which layout stands in which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu._errors import RawFormatError
from drynpu._spelling import did_you_mean
from drynpu.raw import layouts
from drynpu.raw._ids import HOST_MAGIC, STARS_MAGIC, Level, NodeType, RuntimeType, StarsFunction, TsFunction

__all__ = ["FAMILIES", "Family", "family"]

_Records = npt.NDArray[Any]
_TS_TRACK_SIZE = layouts.TS_TRACK_STEP.itemsize


@frozen(kw_only=True)
class Family:
    """
    One kind of record and the files that hold it (cann_msprof.md 7.1).

    ``stem`` is the file name before the device id and the slice number; a host stem begins with ``unaging.``
    and the reader looks for ``aging.`` as well. ``constants`` are the fields that have one value in every record;
    `new` fills them. ``plausible`` says which records can be of this family, so that a reader finds record
    bounds in a file whose beginning or end is lost. ``function`` singles the family out of a file shared by several.
    """

    name: str
    side: str
    """``host`` or ``device``."""
    stem: str
    dtype: np.dtype[np.void]
    plausible: Callable[[_Records], npt.NDArray[np.bool_]] = field(eq=False)
    constants: Mapping[str, int] = field(factory=dict, eq=False)
    function: int | None = None
    also: tuple[str, ...] = ()
    """Further stems that hold the same records."""

    def new(self, count: int) -> _Records:
        """``count`` zeroed records with the constant fields filled in."""
        records: _Records = np.zeros(count, self.dtype)
        for name, value in self.constants.items():
            records[name] = value
        return records


def family(name: str) -> Family:
    """
    Return the family of that name.

    Raises
    ------
    RawFormatError
        If there is none; the message names the nearest.
    """
    if name not in FAMILIES:
        allowed = ", ".join(FAMILIES)
        message = f"No record family is called {name!r}.{did_you_mean(name, FAMILIES)} Families: {allowed}."
        raise RawFormatError(message)
    return FAMILIES[name]


def _has_host_magic(records: _Records) -> npt.NDArray[np.bool_]:
    return np.asarray(records["magic"] == HOST_MAGIC)


def _has_stars_magic(records: _Records) -> npt.NDArray[np.bool_]:
    return np.asarray(records["magic"] == STARS_MAGIC)


def _has_track_size(records: _Records) -> npt.NDArray[np.bool_]:
    return np.asarray(records["size"] == _TS_TRACK_SIZE)


def _reserved_is_zero(at: int) -> Callable[[_Records], npt.NDArray[np.bool_]]:
    """Judge records without a magic number by the reserved u32 at that offset, which must be zero."""

    def plausible(records: _Records) -> npt.NDArray[np.bool_]:
        words = np.ascontiguousarray(records).view("u1").reshape(len(records), -1)
        return np.asarray(~words[:, at : at + 4].any(axis=1))

    return plausible


def _is_memory_sample(records: _Records) -> npt.NDArray[np.bool_]:
    return np.asarray((records["event"] <= 1) & _reserved_is_zero(4)(records))


def _has_frequency_count(records: _Records) -> npt.NDArray[np.bool_]:
    count = records["count"]
    return np.asarray((count >= 1) & (count <= layouts.FREQ_POINTS) & _reserved_is_zero(4)(records))


def _host(
    name: str, dtype: np.dtype[np.void], level: int, type_id: int, data_len: int, group: str = "compact"
) -> Family:
    constants = {"magic": HOST_MAGIC, "level": level, "type": type_id, "data_len": data_len}
    return Family(
        name=name,
        side="host",
        stem=f"unaging.{group}.{name}",
        dtype=dtype,
        plausible=_has_host_magic,
        constants=constants,
    )


def _device(
    name: str,
    stem: str,
    dtype: np.dtype[np.void],
    plausible: Callable[[_Records], npt.NDArray[np.bool_]],
    constants: Mapping[str, int] = MappingProxyType({}),
) -> Family:
    return Family(name=name, side="device", stem=stem, dtype=dtype, plausible=plausible, constants=constants)


def _ts_track(name: str, dtype: np.dtype[np.void], function: int) -> Family:
    return Family(
        name=name,
        side="device",
        stem="ts_track.data",
        dtype=dtype,
        plausible=_has_track_size,
        constants={"function": function, "size": _TS_TRACK_SIZE},
        function=function,
    )


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Family(
                name="api_event",
                side="host",
                stem="unaging.api_event.data",
                dtype=layouts.API_EVENT,
                plausible=_has_host_magic,
                constants={"magic": HOST_MAGIC},
            ),
            # data_len: the bytes of the data part that the layout uses.
            _host("node_basic_info", layouts.NODE_BASIC_INFO, Level.NODE, NodeType.BASIC_INFO, 28),
            _host("tensor_info", layouts.TENSOR_INFO, Level.NODE, NodeType.TENSOR_INFO, 232, "additional"),
            _host("task_track", layouts.TASK_TRACK, Level.RUNTIME, RuntimeType.TASK_TRACK, 28),
            _host("memcpy_info", layouts.MEMCPY_INFO, Level.RUNTIME, RuntimeType.MEMCPY_INFO, 16),
            _host("hccl_op_info", layouts.HCCL_OP_INFO, Level.NODE, NodeType.HCCL_OP_INFO, 26),
            _host(
                "task_memory_info",
                layouts.TASK_MEMORY_INFO,
                Level.NODE,
                NodeType.TASK_MEMORY_INFO,
                48,
                "additional",
            ),
            _device(
                "stars_soc",
                "stars_soc.data",
                layouts.STARS_SOC,
                plausible=_has_stars_magic,
                constants={"magic": STARS_MAGIC},
            ),
            _device(
                "ffts_profile",
                "ffts_profile.data",
                layouts.FFTS_PROFILE,
                plausible=_has_stars_magic,
                constants={"magic": STARS_MAGIC, "header": int(StarsFunction.CONTEXT_PMU)},
            ),
            _ts_track("ts_track_step", layouts.TS_TRACK_STEP, TsFunction.STEP_TRACE),
            _ts_track("ts_track_flip", layouts.TS_TRACK_FLIP, TsFunction.FLIP),
            Family(
                name="npu_mem",
                side="device",
                stem="npu_mem.data",
                dtype=layouts.NPU_MEM,
                plausible=_is_memory_sample,
                also=("npu_mem.app",),
            ),
            _device("npu_module_mem", "npu_module_mem.data", layouts.NPU_MODULE_MEM, plausible=_reserved_is_zero(4)),
            _device("lpm_freq", "lpmFreqConv.data", layouts.LPM_FREQ, plausible=_has_frequency_count),
        )
    }
)
"""Every record family by name."""
