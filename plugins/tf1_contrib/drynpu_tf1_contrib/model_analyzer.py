"""``tf.contrib.tfprof``: counts of parameters and of floating point operations of a graph."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Graph, RunMetadata

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = tf.profiler.ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = tf.profiler.ProfileOptionBuilder.time_and_memory()


def print_model_analysis(
    graph: Graph,
    run_meta: RunMetadata = None,
    op_log: object = None,
    tfprof_cmd: str = "scope",
    tfprof_options: object = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> Any:
    """Print what a graph consists of, and return it: its ``total_parameters``, ``total_float_ops`` ..."""
    return tf.profiler.profile(graph, run_meta=run_meta, op_log=op_log, cmd=tfprof_cmd, options=tfprof_options)


class ProfileContext:
    """
    What records some steps of a training; it can be entered where it is not enabled.

    Raises
    ------
    NotImplementedError
        It is enabled. TensorFlow 2 has no such recording; the script's NPU options and ``drynpu run`` make a profile.
    """

    def __init__(
        self,
        profile_dir: str | None,
        trace_steps: Any = None,
        dump_steps: Any = None,
        enabled: bool = True,
        debug: bool = False,
    ) -> None:
        del profile_dir, trace_steps, dump_steps, debug
        if enabled:
            raise NotImplementedError(
                "tf.contrib.tfprof.ProfileContext records nothing here; write enabled=False, and set profiling_mode and"
                " profiling_options of the NpuOptimizer for a profile."
            )

    def __enter__(self) -> ProfileContext:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass
