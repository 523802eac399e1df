"""``NPURunConfig``: every parameter of the vendor's, its checks with its messages (tf_adapters.md 1.2)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from drynpu import say_once
from drynpu_tf.bridge import utilities
from drynpu_tf.bridge._estimator_bases import RunConfigBase
from drynpu_tf.bridge.config import DumpConfig, DynamicInputConfig, ExperimentalConfig
from drynpu_tf.foreign import ConfigProto, Strategy
from drynpu_tf.quiet import without_deprecations

_BASE_TEXT = """
model_dir tf_random_seed save_summary_steps save_checkpoints_steps save_checkpoints_secs session_config
keep_checkpoint_max keep_checkpoint_every_n_hours log_step_count_steps train_distribute eval_distribute
"""
_BASE = tuple(_BASE_TEXT.split())
"""Parameters that TensorFlow's RunConfig has itself."""

_PUBLIC_TEXT = """
iterations_per_loop mix_compile_mode enable_data_pre_proc is_tailing_optimization variable_format_optimize
horovod_mode graph_run_mode op_debug_level enable_scope_fusion_passes enable_exception_dump topo_sorting_mode
aoe_config_file insert_op_file stream_sync_timeout event_sync_timeout
"""
PUBLIC = frozenset(_PUBLIC_TEXT.split())
"""Parameters that are attributes under their own names; all others but TensorFlow's get a leading underscore."""

_RETIRED: Mapping[str, str] = MappingProxyType(
    {"auto_tune_mode": "AOE took its place", "mstune_mode": "aoe_mode took its place"}
)
"""Parameters of 2021 that scripts still pass, and what to say of them."""


class NPURunConfig(RunConfigBase):
    """
    ``tf.estimator.RunConfig`` with the options of a device.

    A keyword that the vendor does not have (any more) is accepted; one line says that it has no effect.

    Raises
    ------
    TypeError, ValueError
        With the vendor's messages, for what the vendor checks; TensorFlow's own for its parameters.
    ImportError
        TensorFlow has no Estimator.
    """

    def __init__(
        self,
        iterations_per_loop: int = 1,
        profiling_config: Any = None,
        model_dir: str | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 0,
        save_checkpoints_steps: int | None = None,
        save_checkpoints_secs: int | None = None,
        session_config: ConfigProto = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        distribute: Strategy = None,
        enable_data_pre_proc: bool = True,
        precision_mode: str | None = None,
        enable_reduce_precision: bool = False,
        variable_format_optimize: bool | None = None,
        mix_compile_mode: bool = False,
        hcom_parallel: bool = True,
        graph_memory_max_size: int | str | None = None,
        variable_memory_max_size: int | str | None = None,
        dump_config: DumpConfig | None = None,
        stream_max_parallel_num: str | None = None,
        is_tailing_optimization: bool = False,
        horovod_mode: bool = False,
        graph_run_mode: int = 1,
        op_debug_level: int | None = None,
        enable_scope_fusion_passes: str | None = None,
        enable_exception_dump: int = 2,
        op_select_implmode: str | None = None,
        optypelist_for_implmode: str | None = None,
        dynamic_input_config: DynamicInputConfig | None = None,
        aoe_mode: str | None = None,
        work_path: str | None = None,
        buffer_optimize: str = "l2_optimize",
        enable_small_channel: int = 0,
        fusion_switch_file: str | None = None,
        enable_compress_weight: bool = False,
        compress_weight_conf: str | None = None,
        op_compiler_cache_mode: str | None = None,
        op_compiler_cache_dir: str | None = None,
        debug_dir: str | None = None,
        hcom_multi_mode: bool = False,
        dynamic_input: bool | None = None,
        dynamic_graph_execute_mode: str = "dynamic_execute",
        dynamic_inputs_shape_range: str | None = None,
        train_distribute: Strategy = None,
        eval_distribute: Strategy = None,
        local_rank_id: int | None = None,
        local_device_list: str | None = None,
        session_device_id: int | None = None,
        distribute_config: str | None = None,
        modify_mixlist: str | None = None,
        op_precision_mode: str | None = None,
        device_type: str = "default_device_type",
        soc_config: str | None = None,
        hccl_timeout: int | None = None,
        op_wait_timeout: int | None = None,
        op_execute_timeout: int | None = None,
        HCCL_algorithm: str | None = None,  # noqa: N803 - the vendor's name
        customize_dtypes: str | None = None,
        op_debug_config: str | None = None,
        memory_config: Any = None,
        experimental_config: ExperimentalConfig | None = None,
        topo_sorting_mode: int | None = None,
        aoe_config_file: str | None = None,
        insert_op_file: str | None = None,
        stream_sync_timeout: int = -1,
        event_sync_timeout: int = -1,
        external_weight: bool = False,
        deterministic: int = 0,
        frozen_variable: bool = False,
        variable_placement: str = "Device",
        jit_compile: str = "auto",
        precision_mode_v2: str | None = None,
        ac_parallel_enable: str | None = None,
        quant_dumpable: str | None = None,
        input_fusion_size: int = 131072,
        compile_dynamic_mode: bool | None = None,
        graph_max_parallel_model_num: int = 1,
        export_compile_stat: int = 1,
        aicore_num: str | None = None,
        oo_constant_folding: bool = True,
        input_batch_cpy: bool = False,
        shape_generalization_mode: str = "STRICT",
        all_tensor_not_empty: bool = False,
        auto_multistream_parallel_mode: str | None = None,
        oo_level: str = "O3",
        optimization_switch: str | None = None,
        **unknown: Any,
    ) -> None:
        # First, while there are no other local names than the arguments (and the class, for super()).
        options = {name: value for name, value in locals().items() if name not in ("self", "unknown", "__class__")}
        cluster = _cluster(os.environ)
        _check(options, cluster)
        _say_unknown(unknown, options)
        if aoe_mode is not None or os.environ.get("AOE_MODE") is not None:
            options["iterations_per_loop"] = 1
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            options["save_checkpoints_steps"] = 100
        for name, value in options.items():
            if name not in _BASE and name != "distribute":
                setattr(self, name if name in PUBLIC else f"_{name}", value)
        with without_deprecations():
            super().__init__(
                experimental_distribute=_distribute_config(distribute) if cluster else None,
                **{name: options[name] for name in _BASE},
            )


def _cluster(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the cluster of ``TF_CONFIG``, empty where there is none."""
    cluster: Mapping[str, Any] = json.loads(environ.get("TF_CONFIG") or "{}").get("cluster", {})
    return cluster


def _is_parameter_server(strategy: object) -> bool:
    import tensorflow.compat.v2 as tf

    kinds = (tf.compat.v1.distribute.experimental, tf.distribute.experimental)
    return isinstance(strategy, tuple(kind.ParameterServerStrategy for kind in kinds))


def _distribute_config(strategy: Strategy) -> Any:
    from drynpu_tf.inside import DistributeConfig

    return DistributeConfig(strategy, strategy, None)


def _check(options: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
    """Check as the vendor's constructor does, in its order."""
    utilities.check_positive_integer(options["iterations_per_loop"], "iterations_per_loop")
    mixed = options["mix_compile_mode"]
    if not isinstance(mixed, bool):
        raise TypeError('"mix_compile_mode" type must be bool')
    if mixed and options["iterations_per_loop"] != 1:
        raise ValueError('"iterations_per_loop" must be 1 with "mix_compile_mode" is True')
    if not isinstance(options["jit_compile"], str):
        raise TypeError(f"Expected str, got {type(options['jit_compile'])}")
    if bool(cluster) != _is_parameter_server(options["distribute"]):
        raise ValueError('"cluster" and "distribute" must all be set in ps mode')
    if cluster and not mixed:
        raise ValueError('"mix_compile_mode" can only be True with "cluster" is set')
    if not isinstance(options["dump_config"], DumpConfig | None):
        raise ValueError("`dump_config` must be provided with type `DumpConfig`")
    if not isinstance(options["horovod_mode"], bool):
        raise ValueError('"horovod_mode" type must be bool')
    utilities.check_nonnegative_integer(options["graph_run_mode"], "graph_run_mode")
    if options["graph_run_mode"] > 1:
        raise ValueError('"graph_run_mode" value must be 0 or 1')
    utilities.check_nonnegative_integer(options["enable_exception_dump"], "enable_exception_dump")
    if not isinstance(options["experimental_config"], ExperimentalConfig | None):
        raise ValueError("`experimental_config` must be provided with type `ExperimentalConfig`")
    if not isinstance(options["dynamic_input_config"], DynamicInputConfig | None):
        raise ValueError("dynamic_input_config must be provided with type DynamicInputConfig")


def _say_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Print a line for each keyword that the vendor's NPURunConfig does not have."""
    from difflib import get_close_matches

    for name in unknown:
        reason = _RETIRED.get(name, "")
        if not reason and (near := get_close_matches(name, list(known), n=1)):
            reason = f"did you mean {near[0]}?"
        say_once(f"NPURunConfig has no parameter {name}; it is left out" + (f" ({reason})" if reason else ""))
