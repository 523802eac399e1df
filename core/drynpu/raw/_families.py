"""The record families of a ``PROF_XXX`` directory: which layout stands in which file (cann_msprof.md 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from drynpu._errors import RawFormatError
from drynpu._spelling import did_you_mean
from drynpu.raw import layouts
from drynpu.raw._family import (
    Family,
    Plausible,
    has_host_magic,
    has_stars_magic,
    has_track_size,
    in_range,
    reserved_is_zero,
)
from drynpu.raw._ids import HOST_MAGIC, STARS_MAGIC
from drynpu.raw._kinds import AicpuType, Level, ModelType, NodeType, RuntimeType, StarsFunction, TsFunction

__all__ = ["FAMILIES", "family"]

_Layout = np.dtype[np.void]
_TRACK_SIZE = layouts.TS_TRACK_STEP.itemsize
_DATA_BYTES = 232
"""Bytes of additional information behind its header."""
_NO_CONSTANTS: Mapping[str, int] = MappingProxyType({})


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


def _host(name: str, dtype: _Layout, level: int, type_id: int, data_len: int) -> Family:
    """Describe compact or additional information; ``data_len`` are the bytes of the data part that it uses."""
    group = "compact" if dtype.itemsize == layouts.NODE_BASIC_INFO.itemsize else "additional"
    return Family(
        name=name,
        side="host",
        stem=f"unaging.{group}.{name}",
        dtype=dtype,
        plausible=has_host_magic,
        constants={"magic": HOST_MAGIC, "level": level, "type": type_id, "data_len": data_len},
    )


def _device(
    name: str, stem: str, dtype: _Layout, plausible: Plausible, constants: Mapping[str, int] = _NO_CONSTANTS
) -> Family:
    return Family(name=name, side="device", stem=stem, dtype=dtype, plausible=plausible, constants=constants)


def _ts_track(name: str, dtype: _Layout, function: int) -> Family:
    return Family(
        name=name,
        side="device",
        stem="ts_track.data",
        dtype=dtype,
        plausible=has_track_size,
        constants={"function": function, "size": _TRACK_SIZE},
        function=function,
    )


def _aicpu(name: str, dtype: _Layout, type_id: int, data_len: int) -> Family:
    return Family(
        name=name,
        side="device",
        stem="aicpu.data",
        dtype=dtype,
        plausible=has_host_magic,
        constants={"magic": HOST_MAGIC, "level": Level.AICPU, "type": type_id, "data_len": data_len},
        function=type_id,
        function_field="type",
        function_mask=0xFFFF_FFFF,
    )


def _soc(name: str, dtype: _Layout, function: int) -> Family:
    return Family(
        name=name,
        side="device",
        stem="stars_soc_profile.data",
        dtype=dtype,
        plausible=has_stars_magic,
        constants={"magic": STARS_MAGIC, "header": function},
        function=function,
        function_field="header",
        function_mask=0x3F,
    )


def _host_families() -> tuple[Family, ...]:
    return (
        Family(
            name="api_event",
            side="host",
            stem="unaging.api_event.data",
            dtype=layouts.API_EVENT,
            plausible=has_host_magic,
            constants={"magic": HOST_MAGIC},
        ),
        _host("node_basic_info", layouts.NODE_BASIC_INFO, Level.NODE, NodeType.BASIC_INFO, 28),
        _host("node_attr_info", layouts.NODE_ATTR_INFO, Level.NODE, NodeType.ATTR_INFO, 20),
        _host("tensor_info", layouts.TENSOR_INFO, Level.NODE, NodeType.TENSOR_INFO, _DATA_BYTES),
        _host("context_id_info", layouts.CONTEXT_ID_INFO, Level.NODE, NodeType.CONTEXT_ID_INFO, _DATA_BYTES),
        _host("fusion_op_info", layouts.FUSION_OP_INFO, Level.NODE, NodeType.FUSION_OP_INFO, 116),
        _host("task_track", layouts.TASK_TRACK, Level.RUNTIME, RuntimeType.TASK_TRACK, 28),
        _host("memcpy_info", layouts.MEMCPY_INFO, Level.RUNTIME, RuntimeType.MEMCPY_INFO, 16),
        _host("hccl_op_info", layouts.HCCL_OP_INFO, Level.NODE, NodeType.HCCL_OP_INFO, 26),
        # The communication library registers its type names in order, this one first.
        _host("hccl_info", layouts.HCCL_INFO, Level.COMMUNICATION, 0, 116),
        _host("task_memory_info", layouts.TASK_MEMORY_INFO, Level.NODE, NodeType.TASK_MEMORY_INFO, 48),
        _host("static_op_mem", layouts.STATIC_OP_MEM, Level.NODE, NodeType.STATIC_OP_MEM, 52),
        _host("graph_id_map", layouts.GRAPH_ID_MAP, Level.MODEL, ModelType.GRAPH_ID_MAP, 16),
        Family(
            name="msproftx",
            side="host",
            stem="unaging.additional.msproftx",
            dtype=layouts.MSPROFTX,
            plausible=has_host_magic,
            constants={
                "magic": HOST_MAGIC,
                "level": Level.TX,
                "type": 0,
                "data_len": _DATA_BYTES,
                "stamp_magic": HOST_MAGIC,
            },
        ),
    )


def _task_families() -> tuple[Family, ...]:
    context_pmu = {"magic": STARS_MAGIC, "header": int(StarsFunction.CONTEXT_PMU)}
    context_pmu_v6 = {"magic": STARS_MAGIC, "header": int(StarsFunction.CONTEXT_PMU_V6)}
    core_sample = in_range(reserved_is_zero(90, 6), mode=(1, 8), event_count=(0, 8))
    core_sample_v6 = in_range(reserved_is_zero(106, 6), mode=(1, 8), event_count=(0, 10))
    mode = {"mode": 1}
    return (
        _device("stars_soc", "stars_soc.data", layouts.STARS_SOC, has_stars_magic, {"magic": STARS_MAGIC}),
        _device("ffts_profile", "ffts_profile.data", layouts.FFTS_PROFILE, has_stars_magic, context_pmu),
        # The same file on the 950: which of the two it holds follows from the chip.
        _device("ffts_profile_v6", "ffts_profile.data", layouts.FFTS_PROFILE_V6, has_stars_magic, context_pmu_v6),
        _ts_track("ts_track_step", layouts.TS_TRACK_STEP, TsFunction.STEP_TRACE),
        _ts_track("ts_track_memcpy", layouts.TS_TRACK_MEMCPY, TsFunction.MEMCPY),
        _ts_track("ts_track_task_type", layouts.TS_TRACK_TASK_TYPE, TsFunction.TASK_TYPE),
        _ts_track("ts_track_flip", layouts.TS_TRACK_FLIP, TsFunction.FLIP),
        _ts_track("ts_track_block_number", layouts.TS_TRACK_BLOCK_NUMBER, TsFunction.BLOCK_NUMBER),
        _aicpu("aicpu_node", layouts.AICPU_NODE, AicpuType.NODE, 119),
        _aicpu("aicpu_data_preparation", layouts.AICPU_DATA_PREPARATION, AicpuType.DATA_PREPARATION, 96),
        _aicpu("aicpu_model", layouts.AICPU_MODEL, AicpuType.MODEL, 24),
        _aicpu("aicpu_queue", layouts.AICPU_QUEUE, AicpuType.QUEUE, 32),
        _device("ai_core_sample", "aicore.data", layouts.AI_CORE_SAMPLE, core_sample, mode),
        _device("ai_vector_core_sample", "aiVectorCore.data", layouts.AI_CORE_SAMPLE, core_sample, mode),
        # The chips with FFTS+ leave the samples of both kinds of core where they leave the counters of tasks.
        _device("ffts_core_sample", "ffts_profile.data", layouts.AI_CORE_SAMPLE, core_sample, mode),
        _device("ffts_core_sample_v6", "ffts_profile.data", layouts.AI_CORE_SAMPLE_V6, core_sample_v6, mode),
        _device("l2_cache", "l2_cache.data", layouts.L2_CACHE, in_range(reserved_is_zero(6, 2), task_type=(0, 0xFF))),
        _device("soc_pmu", "socpmu.data", layouts.SOC_PMU, in_range(reserved_is_zero(0, 8), data_type=(0, 0xFF))),
        _device("soc_pmu_v6", "socpmu.data", layouts.SOC_PMU_V6, in_range(reserved_is_zero(0, 6), data_type=(0, 0xFF))),
    )


def _sample_families() -> tuple[Family, ...]:
    memory_sample = in_range(reserved_is_zero(4), event=(0, 1))
    points = (1, layouts.FREQ_POINTS)
    return (
        Family(
            name="npu_mem",
            side="device",
            stem="npu_mem.data",
            dtype=layouts.NPU_MEM,
            plausible=memory_sample,
            also=("npu_mem.app",),
        ),
        _device("npu_module_mem", "npu_module_mem.data", layouts.NPU_MODULE_MEM, reserved_is_zero(4)),
        _device("lpm_freq", "lpmFreqConv.data", layouts.LPM_FREQ, in_range(reserved_is_zero(4), count=points)),
        _device("lpm_info", "lpmInfoConv.data", layouts.LPM_INFO, in_range(type=(0, 0xFF), count=points)),
        _device("hbm", "hbm.data", layouts.HBM, in_range(event=(0, 1), hbm_id=(0, 0xFF))),
        _device("ddr", "ddr.data", layouts.DDR, in_range(event=(0, 0xFF), ddr_id=(0, 0xFF))),
        _device("llc", "llc.data", layouts.LLC, in_range(event=(0, 0xFF), l3t_id=(0, 0xFFF))),
        _device("pcie", "pcie.data", layouts.PCIE, in_range(device_id=(0, 0xFFF))),
        _device("qos", "qos.data", layouts.QOS, reserved_is_zero(0, 16)),
        _soc("sio", layouts.SIO, StarsFunction.SIO),
        _soc("acc_pmu", layouts.ACC_PMU, StarsFunction.ACC_PMU),
        _soc("chip_trans", layouts.CHIP_TRANS, StarsFunction.CHIP_TRANS),
        _soc("chip_trans_v6", layouts.CHIP_TRANS_V6, StarsFunction.CHIP_TRANS),
        _soc("stars_qos", layouts.STARS_QOS, StarsFunction.STARS_QOS),
        _soc("soc_bandwidth", layouts.SOC_BANDWIDTH, StarsFunction.SOC_BANDWIDTH),
    )


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {entry.name: entry for entry in (*_host_families(), *_task_families(), *_sample_families())}
)
"""Every record family by name."""
