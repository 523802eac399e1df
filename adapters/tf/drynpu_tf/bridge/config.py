"""
The configuration classes of ``npu_config`` besides ``NPURunConfig``: they hold the arguments of the script.

Attributes have the vendor's names (a leading underscore), because scripts and the vendor's own code read them; attrs
leaves the underscore out of the names of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from attrs import define

from drynpu import say_once
from drynpu_tf.bridge.utilities import check_profiling_options


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
    """Return the arguments of 2020 as the JSON of today; ``None`` where profiling is off and no option was given."""
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


@define(eq=False, slots=False)
class MemoryConfig:
    """Policies of the device's memory; recorded, without effect here."""

    _atomic_clean_policy: int = 0
    _static_memory_policy: int = 0
    _memory_optimization_policy: str | None = None
    _variable_use_1g_huge_page: int = 0


@define(eq=False, slots=False)
class DumpConfig:
    """Which operators' data to dump; recorded, nothing is dumped here."""

    _enable_dump: bool = False
    _dump_path: str | None = None
    _dump_step: str | None = None
    _dump_mode: str = "output"
    _enable_dump_debug: bool = False
    _dump_debug_mode: str = "all"
    _dump_data: str = "tensor"
    _dump_layer: str | None = None

    def __attrs_post_init__(self) -> None:
        if self._enable_dump or self._enable_dump_debug:
            say_once("DumpConfig is kept in the session's options, but no operator data is dumped here")


@define(eq=False, slots=False)
class GraphMemoryOptimizeConfig:
    """Recomputation and slicing of the graph; raises ``ValueError`` for other words than the vendor's two."""

    _recompute: str | None = None
    _graph_slice: str | None = None

    def __attrs_post_init__(self) -> None:
        for name, value in (("recompute", self._recompute), ("graph_slice", self._graph_slice)):
            if value is not None and value not in ("auto", "manual"):
                raise ValueError(f"{name} must be auto or manual, got {value!r}")


@define(eq=False, slots=False)
class ExperimentalConfig:
    """Deployment to several logical devices; recorded, without effect here."""

    _logical_device_cluster_deploy_mode: str = "LB"
    _logical_device_id: str | None = None
    _model_deploy_mode: str | None = None
    _model_deploy_devicelist: str | None = None
    _graph_memory_optimize_config: GraphMemoryOptimizeConfig | None = None
    _enable_graph_parallel: bool | None = None
    _graph_parallel_option_path: str | None = None
    _graph_compiler_cache_dir: str | None = None
    _resource_config_path: str | None = None
    _accelerate_train_mode: str | None = None


@define(eq=False, slots=False)
class DynamicInputConfig:
    """Shapes that a compiled graph takes; recorded. The fourth argument came after 2021."""

    _input_shape: str | None
    _dynamic_dims: str | None
    _dynamic_node_type: int | None
    _compile_hybrid_mode: int | None = None


class NpuExecutePlacement(Enum):
    """Where a variable is placed."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"
