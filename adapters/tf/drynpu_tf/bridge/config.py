"""
The configuration classes of ``npu_config`` besides ``NPURunConfig``: plain holders of what the script says.

Attributes have the vendor's names (a leading underscore), because scripts and the vendor's own code read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from drynpu import say_once
from drynpu_tf.bridge.checks import check_profiling_options


class ProfilingConfig:
    """
    Whether and what to profile, in the arguments of either generation (tf_adapters.md 1.1).

    Parameters
    ----------
    enable_profiling:
        Read by ``NPUEstimator``; nothing is checked here.
    profiling_options:
        Since February 2021: the JSON text.
    enable_options, fp_point, bp_point:
        Until then: a list of ``training_trace``, ``task_trace`` and ``op_trace``, and the names of the first forward
        and the last backward operator. They become the same JSON; ``op_trace`` has no counterpart in it.

    Raises
    ------
    ValueError
        For *enable_options* that is empty or has another member, as in the vendor's estimator of that time.
    """

    def __init__(
        self,
        enable_profiling: bool = False,
        profiling_options: Any = None,
        fp_point: str | None = None,
        bp_point: str | None = None,
        *,
        enable_options: Sequence[str] | None = None,
    ) -> None:
        if enable_options is None and isinstance(profiling_options, (list, tuple)):
            enable_options, profiling_options = profiling_options, None
        if enable_options is not None or fp_point is not None or bp_point is not None:
            profiling_options = _as_json(enable_profiling, enable_options, profiling_options, fp_point, bp_point)
        self._enable_profiling = enable_profiling
        self._profiling_options = profiling_options


def _as_json(
    enabled: object, names: Sequence[str] | None, options: object, fp_point: str | None, bp_point: str | None
) -> str | None:
    """Return the arguments of 2020 as the JSON of today, ``None`` where profiling is off and nothing was asked for."""
    import orjson

    if isinstance(options, str):
        try:
            document = orjson.loads(options)
        except orjson.JSONDecodeError:  # what is wrong with it is said where the session reads it
            return options
    elif enabled or names:
        check_profiling_options(names or ())
        document = dict.fromkeys((name for name in names or () if name != "op_trace"), "on")
        if names and "op_trace" in names:
            say_once("ProfilingConfig: op_trace is an option of 2020; task_trace has the operators and takes its place")
            document["task_trace"] = "on"
        document["output"] = "./"
    else:
        return None
    if names and "training_trace" in names and not (fp_point and bp_point):
        say_once("ProfilingConfig: fp_point and bp_point are not both given; they are found automatically")
    points = {"fp_point": fp_point, "bp_point": bp_point}
    document.update({key: value for key, value in points.items() if value is not None})
    return orjson.dumps(document).decode()


class MemoryConfig:
    """Policies of the device's memory; recorded, without effect here."""

    def __init__(
        self,
        atomic_clean_policy: int = 0,
        static_memory_policy: int = 0,
        memory_optimization_policy: str | None = None,
        variable_use_1g_huge_page: int = 0,
    ) -> None:
        self._atomic_clean_policy = atomic_clean_policy
        self._static_memory_policy = static_memory_policy
        self._memory_optimization_policy = memory_optimization_policy
        self._variable_use_1g_huge_page = variable_use_1g_huge_page


class DumpConfig:
    """Which operators' data to dump; recorded, nothing is dumped here."""

    def __init__(
        self,
        enable_dump: bool = False,
        dump_path: str | None = None,
        dump_step: str | None = None,
        dump_mode: str = "output",
        enable_dump_debug: bool = False,
        dump_debug_mode: str = "all",
        dump_data: str = "tensor",
        dump_layer: str | None = None,
    ) -> None:
        self._enable_dump = enable_dump
        self._dump_path = dump_path
        self._dump_step = dump_step
        self._dump_mode = dump_mode
        self._enable_dump_debug = enable_dump_debug
        self._dump_debug_mode = dump_debug_mode
        self._dump_data = dump_data
        self._dump_layer = dump_layer
        if enable_dump or enable_dump_debug:
            say_once("DumpConfig is kept in the session's options, but no operator data is dumped here")


class GraphMemoryOptimizeConfig:
    """Recomputation and slicing of the graph; raises ``ValueError`` for other words than the vendor's two."""

    def __init__(self, recompute: str | None = None, graph_slice: str | None = None) -> None:
        for name, value in (("recompute", recompute), ("graph_slice", graph_slice)):
            if value is not None and value not in ("auto", "manual"):
                raise ValueError(f"{name} must be auto or manual, got {value!r}")
        self._recompute = recompute
        self._graph_slice = graph_slice


class ExperimentalConfig:
    """Deployment to several logical devices; recorded, without effect here."""

    def __init__(
        self,
        logical_device_cluster_deploy_mode: str = "LB",
        logical_device_id: str | None = None,
        model_deploy_mode: str | None = None,
        model_deploy_devicelist: str | None = None,
        graph_memory_optimize_config: GraphMemoryOptimizeConfig | None = None,
        enable_graph_parallel: bool | None = None,
        graph_parallel_option_path: str | None = None,
        graph_compiler_cache_dir: str | None = None,
        resource_config_path: str | None = None,
        accelerate_train_mode: str | None = None,
    ) -> None:
        self._logical_device_cluster_deploy_mode = logical_device_cluster_deploy_mode
        self._logical_device_id = logical_device_id
        self._model_deploy_mode = model_deploy_mode
        self._model_deploy_devicelist = model_deploy_devicelist
        self._graph_memory_optimize_config = graph_memory_optimize_config
        self._enable_graph_parallel = enable_graph_parallel
        self._graph_parallel_option_path = graph_parallel_option_path
        self._graph_compiler_cache_dir = graph_compiler_cache_dir
        self._resource_config_path = resource_config_path
        self._accelerate_train_mode = accelerate_train_mode


class DynamicInputConfig:
    """Shapes that a compiled graph takes; recorded. The fourth argument came after 2021."""

    def __init__(
        self,
        input_shape: str | None,
        dynamic_dims: str | None,
        dynamic_node_type: int | None,
        compile_hybrid_mode: int | None = None,
    ) -> None:
        self._input_shape = input_shape
        self._dynamic_dims = dynamic_dims
        self._dynamic_node_type = dynamic_node_type
        self._compile_hybrid_mode = compile_hybrid_mode


class NpuExecutePlacement(Enum):
    """Where a variable is placed."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"
