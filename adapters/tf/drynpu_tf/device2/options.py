"""The tree that ``npu_device.global_options()`` returns: names, defaults and what may be set (tf_adapters.md 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, TypeAlias

from drynpu_tf.device2._option_values import DeprecatedValue, NpuBaseConfig, OptionValue, Table

_SWITCH = (True, False)
_PRECISION_MODES = [
    "force_fp32",
    "allow_fp32_to_fp16",
    "force_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "cube_fp16in_fp32out",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "allow_fp32_to_bf16",
]
_PRECISION_MODES_V2 = [
    "fp16",
    "origin",
    "cube_fp16in_fp32out",
    "mixed_float16",
    "mixed_bfloat16",
    "cube_hif8",
    "mixed_hif8",
]
_PROFILING_OPTIONS = (
    '{"output":"./","training_trace":"on","task_time":"on","hccl":"on","aicpu":"on",'
    '"aic_metrics":"PipeUtilization","msproftx":"off"}'
)


_Option: TypeAlias = Callable[[], OptionValue]


def _choice(default: object, values: Sequence[object]) -> _Option:
    """Return an option that takes one of *values* only."""
    return partial(OptionValue, default, values)


def _free(default: object = None) -> _Option:
    """Return an option that takes any value."""
    return partial(OptionValue, default, None)


def _switch(default: bool) -> _Option:
    return _choice(default, list(_SWITCH))


def _deprecated(values: Sequence[object] | None, replacement: str | None) -> _Option:
    return partial(DeprecatedValue, values, replacement=replacement)


class NpuProfilingConfig(NpuBaseConfig):
    """Whether and how to profile; the text of the options is parsed when the device is opened."""

    _table: ClassVar[Table] = {"enable_profiling": _switch(False), "profiling_options": _free(_PROFILING_OPTIONS)}


class NpuDumpConfig(NpuBaseConfig):
    """What tensors to dump."""

    _table: ClassVar[Table] = {
        "enable_dump": _switch(False),
        "dump_path": _free(),
        "dump_step": _free(),
        "dump_mode": _choice("output", ["input", "output", "all"]),
        "enable_dump_debug": _switch(False),
        "dump_debug_mode": _choice("all", ["aicore_overflow", "atomic_overflow", "all"]),
        "dump_data": _choice("tensor", ["tensor", "stats"]),
        "dump_layer": _free(),
    }


class NpuAoeConfig(NpuBaseConfig):
    """Tuning of operators and graphs."""

    _table: ClassVar[Table] = {
        "aoe_mode": _choice(None, ["1", "2", "4"]),
        "work_path": _free("./"),
        "aoe_config_file": _free(),
    }


class MemoryConfig(NpuBaseConfig):
    """Use of device memory."""

    _table: ClassVar[Table] = {
        "atomic_clean_policy": _choice(0, [0, 1]),
        "static_memory_policy": _choice(0, [0, 1, 2, 3, 4]),
        "variable_use_1g_huge_page": _choice(0, [0, 1, 2]),
    }


class NpuMultiBranchesConfig(NpuBaseConfig):
    """Several shapes of one graph."""

    _table: ClassVar[Table] = {
        "input_shape": _free(),
        "dynamic_node_type": _choice(None, ["0"]),
        "dynamic_dims": _free(),
    }


class LogicalDeviceDeployConfig(NpuBaseConfig):
    """Which logical devices a graph goes to."""

    _table: ClassVar[Table] = {
        "logical_device_cluster_deploy_mode": _choice("LB", ["LB", "SINGLE"]),
        "logical_device_id": _free(),
    }


class ModelDeployConfig(NpuBaseConfig):
    """How a model is spread over devices."""

    _table: ClassVar[Table] = {"model_deploy_mode": _free(), "model_deploy_devicelist": _free()}


class GraphMemoryOptimizeConfig(NpuBaseConfig):
    """Recomputation and slicing for the sake of memory."""

    _table: ClassVar[Table] = {
        "recompute": _choice(None, ["auto", "manual"]),
        "graph_slice": _choice(None, ["auto"]),
    }


class NpuExperimentalConfig(NpuBaseConfig):
    """Options that may change."""

    _table: ClassVar[Table] = {
        "multi_branches_config": NpuMultiBranchesConfig,
        "logical_device_deploy_config": LogicalDeviceDeployConfig,
        "model_deploy_config": ModelDeployConfig,
        "graph_memory_optimize_config": GraphMemoryOptimizeConfig,
        "resource_config_path": _free(),
        "graph_parallel_option_path": _free(),
        "enable_graph_parallel": _switch(False),
    }


class _RunContextExperimentalConfig(NpuBaseConfig):
    _table: ClassVar[Table] = {"graph_memory_optimize_config": GraphMemoryOptimizeConfig}


class NpuRunContextOptions(NpuBaseConfig):
    """Options of ``npu_run_context``."""

    _table: ClassVar[Table] = {"experimental": _RunContextExperimentalConfig}


class NpuConfig(NpuBaseConfig):
    """All options of a device."""

    _table: ClassVar[Table] = {
        "graph_run_mode": _choice(1, [0, 1]),
        "graph_memory_max_size": _free(),
        "variable_memory_max_size": _free(),
        "variable_format_optimize": _deprecated(list(_SWITCH), replacement=None),
        "enable_scope_fusion_passes": _free(),
        "fusion_switch_file": _free(),
        "precision_mode": _choice(None, _PRECISION_MODES),
        "op_select_implmode": _deprecated(["high_performance", "high_precision"], replacement="op_precision_mode"),
        "optypelist_for_implmode": _deprecated(None, replacement="op_precision_mode"),
        "op_compiler_cache_mode": _choice("enable", ["enable", "disable", "force"]),
        "op_compiler_cache_dir": _free(),
        "stream_max_parallel_num": _free(),
        "ac_parallel_enable": _choice(None, ["0", "1"]),
        "quant_dumpable": _choice(None, ["0", "1"]),
        "hcom_parallel": _switch(True),
        "hcom_multi_mode": _free(),
        "is_tailing_optimization": _switch(False),
        "op_debug_level": _deprecated([0, 1, 2, 3, 4], replacement="op_debug_config"),
        "op_debug_config": _free(),
        "debug_dir": _free(),
        "modify_mixlist": _free(),
        "enable_exception_dump": _choice(2, [0, 1, 2]),
        "dump_config": NpuDumpConfig,
        "aoe_config": NpuAoeConfig,
        "profiling_config": NpuProfilingConfig,
        "enable_small_channel": _switch(False),
        "deterministic": _choice(0, [0, 1]),
        "op_precision_mode": _free(),
        "graph_exec_timeout": _free(),
        "topo_sorting_mode": _choice(None, [0, 1, None]),
        "customize_dtypes": _free(),
        "overflow_flag": _choice(1, [0, 1]),
        "stream_sync_timeout": _free(-1),
        "event_sync_timeout": _free(-1),
        "execute_times": _free(-1),
        "external_weight": _switch(False),
        "memory_config": MemoryConfig,
        "jit_compile": _choice("auto", ["true", "false", "auto"]),
        "graph_compiler_cache_dir": _free(),
        "input_fusion_size": _free(131072),
        "compile_dynamic_mode": _switch(False),
        "experimental": NpuExperimentalConfig,
        "precision_mode_v2": _choice(None, _PRECISION_MODES_V2),
        "export_compile_stat": _choice(1, [0, 1, 2]),
        "aicore_num": _free(),
        "oo_constant_folding": _switch(True),
        "input_batch_cpy": _switch(False),
        "shape_generalization_mode": _choice("STRICT", ["STRICT", "FULL", "ADAPTIVE"]),
        "all_tensor_not_empty": _switch(False),
        "auto_multistream_parallel_mode": _choice(None, ["cv"]),
        "oo_level": _choice("O3", ["O0", "O1", "O2", "O3"]),
        "optimization_switch": _free(),
    }
