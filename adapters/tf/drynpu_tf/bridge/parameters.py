"""
From an ``NPURunConfig`` to the ``NpuOptimizer`` entry of a session's options (tf_adapters.md 1.4).

The tables list the keys of ``parameter_map`` by the member of ``AttrValue`` that holds their value: b, i or s.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.protobuf import config_pb2

from drynpu_tf.bridge.run_config import PUBLIC, NPURunConfig
from drynpu_tf.inside import compat
from drynpu_tf.options import OPTIMIZER_NAME

_OPTIMIZERS = "pruning function constfold shape arithmetic loop dependency layout GradFusionOptimizer"
"""The graph optimizers that the vendor's Estimator requests; TensorFlow skips the last, which it does not know."""

_ALWAYS = {
    "b": """
    enable_data_pre_proc mix_compile_mode is_tailing_optimization hcom_parallel enable_compress_weight hcom_multi_mode
    external_weight frozen_variable enable_reduce_precision
    """,
    "i": """
    iterations_per_loop graph_run_mode enable_exception_dump enable_small_channel deterministic input_fusion_size
    stream_sync_timeout event_sync_timeout
    """,
    "s": "device_type jit_compile variable_placement",
}
"""Keys that are written whatever their value; ``None`` is an error."""

_WHERE_GIVEN = {
    "b": "dynamic_input compile_dynamic_mode oo_constant_folding input_batch_cpy all_tensor_not_empty",
    "i": """
    op_debug_level local_rank_id hccl_timeout op_wait_timeout op_execute_timeout topo_sorting_mode
    graph_max_parallel_model_num session_device_id export_compile_stat
    """,
    "s": """
    graph_memory_max_size variable_memory_max_size enable_scope_fusion_passes buffer_optimize fusion_switch_file
    compress_weight_conf op_compiler_cache_mode op_compiler_cache_dir debug_dir dynamic_graph_execute_mode
    dynamic_inputs_shape_range local_device_list soc_config HCCL_algorithm customize_dtypes op_debug_config
    insert_op_file modify_mixlist op_precision_mode precision_mode precision_mode_v2 stream_max_parallel_num
    op_select_implmode optypelist_for_implmode ac_parallel_enable quant_dumpable aicore_num oo_level
    optimization_switch shape_generalization_mode auto_multistream_parallel_mode
    """,
}
"""Keys that are left out where the configuration has ``None``."""

_AS_TEXT = ("graph_memory_max_size", "variable_memory_max_size")
"""Keys whose numbers become text; for all others a number is an error."""

_DUMP = {"s": "dump_path dump_step dump_mode dump_debug_mode dump_data dump_layer"}
_DYNAMIC_INPUT = {"s": "input_shape dynamic_dims", "i": "dynamic_node_type compile_hybrid_mode"}
_MEMORY = {
    "i": "atomic_clean_policy static_memory_policy variable_use_1g_huge_page",
    "s": "memory_optimization_policy",
}
_EXPERIMENTAL_PREFIX = "experimental_"
_EXPERIMENTAL = {
    "s": """
    experimental_logical_device_cluster_deploy_mode experimental_logical_device_id experimental_model_deploy_mode
    experimental_model_deploy_devicelist resource_config_path
    """
}


def _configured(config: object, key: str) -> Any:
    """Return the value that a configuration has for a key: an attribute of that name, most with an underscore."""
    name = key.removeprefix(_EXPERIMENTAL_PREFIX)
    return getattr(config, name if name in PUBLIC else f"_{name}")


class _Entry:
    """The NpuOptimizer entry of a session's options, key by key."""

    def __init__(self, parameter_map: Any) -> None:
        self._map = parameter_map

    def set(self, key: str, member: str, value: Any) -> None:
        """Set one key. Raises ``TypeError`` for a value that is not of the member's type."""
        if member == "s":
            value = compat.as_bytes(str(value) if key in _AS_TEXT else value)
        slot: attr_value_pb2.AttrValue = self._map[key]
        setattr(slot, member, value)

    def fill(self, config: object, keys: Mapping[str, str], *, skip_none: bool) -> None:
        """Set the keys of a table to the values of a configuration."""
        for member, names in keys.items():
            for key in names.split():
                value = _configured(config, key)
                if value is not None or not skip_none:
                    self.set(key, member, value)


def session_options(config: NPURunConfig) -> NPURunConfig:
    """
    Return *config* with the NpuOptimizer entry in its session's options.

    The options are edited in place, as by the vendor's Estimator; a configuration without any is replaced by one with.

    Raises
    ------
    TypeError
        A value is not of the type that its key takes.
    AttributeError
        ``profiling_config`` is no ``ProfilingConfig``.
    """
    if config.session_config is None:
        config = config.replace(session_config=config_pb2.ConfigProto())
    rewrite = config.session_config.graph_options.rewrite_options
    rewrite.optimizers.extend(_OPTIMIZERS.split())
    custom = rewrite.custom_optimizers.add()
    custom.name = OPTIMIZER_NAME
    entry = _Entry(custom.parameter_map)
    entry.set("use_off_line", "b", True)
    entry.set("min_group_size", "b", True)
    entry.fill(config, _ALWAYS, skip_none=False)
    entry.fill(config, _WHERE_GIVEN, skip_none=True)
    _task(entry)
    _profiling(entry, config._profiling_config)
    _dump(entry, config._dump_config)
    _parts(entry, config)
    return config


def _task(entry: _Entry) -> None:
    task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
    kind = task.get("type")
    entry.set("job", "s", kind or "localhost")
    entry.set("task_index", "i", int(task.get("index", 0)) if kind else 0)


def _profiling(entry: _Entry, profiling: Any) -> None:
    if profiling is None:
        return
    entry.set("profiling_mode", "b", profiling._enable_profiling)
    if profiling._enable_profiling:
        options = profiling._profiling_options
        entry.set("profiling_options", "s", "" if options is None else options)


def _dump(entry: _Entry, dump: Any) -> None:
    entry.set("enable_dump", "b", dump is not None and dump._enable_dump)
    entry.set("enable_dump_debug", "b", dump is not None and dump._enable_dump_debug)
    if dump is not None:
        entry.fill(dump, _DUMP, skip_none=True)


def _parts(entry: _Entry, config: NPURunConfig) -> None:
    """Write what the smaller configurations hold."""
    dynamic = config._dynamic_input_config
    if dynamic is not None and None not in (dynamic._input_shape, dynamic._dynamic_dims, dynamic._dynamic_node_type):
        entry.fill(dynamic, _DYNAMIC_INPUT, skip_none=True)
    if config._memory_config is not None:
        entry.fill(config._memory_config, _MEMORY, skip_none=True)
    if config._experimental_config is None:
        entry.set("experimental_logical_device_cluster_deploy_mode", "s", "LB")
    else:
        entry.fill(config._experimental_config, _EXPERIMENTAL, skip_none=True)
    if config._aoe_mode is not None:
        entry.set("aoe_mode", "s", config._aoe_mode)
        entry.set("work_path", "s", "./" if config._work_path is None else config._work_path)
        files = {"distribute_config": config._distribute_config, "aoe_config_file": config.aoe_config_file}
        for key, value in files.items():
            if value is not None:
                entry.set(key, "s", value)
