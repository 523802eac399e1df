"""
``npu_init``: what ported scripts import with a star; every session is the device's from then on.

``npu_bridge`` is made for TensorFlow 1, so its ``tf`` has that one's names, whatever the script's own was.
"""

from __future__ import annotations

import os

from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu import (
    keras_to_npu,
    npu_plugin,
    npu_scope,
    npu_strategy,
    parts,
    scoped_graph_manager,
    util,
)
from npu_bridge.estimator.npu.keras_to_npu import model_to_npu_estimator
from npu_bridge.estimator.npu.npu_callbacks import NPUBroadcastGlobalVariablesCallback
from npu_bridge.estimator.npu.npu_config import (
    DumpConfig,
    DynamicInputConfig,
    ExperimentalConfig,
    MemoryConfig,
    NPURunConfig,
    ProfilingConfig,
    decorator_tf_session,
)
from npu_bridge.estimator.npu.npu_estimator import (
    NPUEstimator,
    NPUEstimatorSpec,
)
from npu_bridge.estimator.npu.npu_hook import (
    NPUBroadcastGlobalVariablesHook,
    NPUCheckpointSaverHook,
    NPUOutputTensorHook,
    SetIterationsVarHook,
    TellMeStepOrLossHook,
)
from npu_bridge.estimator.npu.npu_loss_scale_manager import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import (
    KerasDistributeOptimizer,
    NPUDistributedOptimizer,
    NPUOptimizer,
    npu_allreduce,
    npu_distributed_optimizer_wrapper,
)
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.hccl import hccl_ops
from npu_bridge.npu_cpu import npu_cpu_ops
from npu_bridge.profiler import profiler
from tensorflow.core.protobuf import (
    config_pb2,
    rewriter_config_pb2,
)
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from drynpu_tf.bridge.hooks import NpuEmptyHook
from drynpu_tf.bridge.init import (
    backend,
    close_session,
    experimental_options,
    get_npu_local_rank_id,
    get_npu_local_rank_size,
    get_npu_rank_id,
    get_npu_rank_size,
    init_resource,
    npu_callbacks_append,
    npu_clear_session,
    npu_config_proto,
    npu_graph_options,
    npu_hooks_append,
    npu_keras_optimizer,
    npu_optimizer_options,
    npu_run_config_init,
    npu_tf_optimizer,
    set_keras_session_npu_config,
    shutdown_resource,
)
from drynpu_tf.bridge.ranks import (
    create_group,
    destroy_group,
    get_group_rank_from_world_rank,
    get_local_rank_id,
    get_local_rank_size,
    get_rank_id,
    get_rank_size,
    get_world_rank_from_group_rank,
    set_split_strategy_by_idx,
    set_split_strategy_by_size,
)
from drynpu_tf.face import tensorflow_1
from drynpu_tf.inside import session, session_run_hook

tf = tensorflow_1()

__all__ = [
    "DumpConfig",
    "DynamicInputConfig",
    "ExperimentalConfig",
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "KerasDistributeOptimizer",
    "MemoryConfig",
    "NPUBroadcastGlobalVariablesCallback",
    "NPUBroadcastGlobalVariablesHook",
    "NPUCheckpointSaverHook",
    "NPUDistributedOptimizer",
    "NPUEstimator",
    "NPUEstimatorSpec",
    "NPULossScaleOptimizer",
    "NPUOptimizer",
    "NPUOutputTensorHook",
    "NPURunConfig",
    "NpuEmptyHook",
    "ProfilingConfig",
    "RewriterConfig",
    "SetIterationsVarHook",
    "TellMeStepOrLossHook",
    "backend",
    "close_session",
    "config_pb2",
    "create_group",
    "decorator_tf_session",
    "destroy_group",
    "experimental_options",
    "get_group_rank_from_world_rank",
    "get_local_rank_id",
    "get_local_rank_size",
    "get_npu_local_rank_id",
    "get_npu_local_rank_size",
    "get_npu_rank_id",
    "get_npu_rank_size",
    "get_rank_id",
    "get_rank_size",
    "get_world_rank_from_group_rank",
    "hccl_ops",
    "init_resource",
    "keras_to_npu",
    "model_to_npu_estimator",
    "npu_allreduce",
    "npu_callbacks_append",
    "npu_clear_session",
    "npu_config_proto",
    "npu_cpu_ops",
    "npu_distributed_optimizer_wrapper",
    "npu_graph_options",
    "npu_hooks_append",
    "npu_keras_optimizer",
    "npu_ops",
    "npu_optimizer_options",
    "npu_plugin",
    "npu_run_config_init",
    "npu_scope",
    "npu_strategy",
    "npu_tf_optimizer",
    "npu_unary_ops",
    "os",
    "profiler",
    "rewriter_config_pb2",
    "scoped_graph_manager",
    "session",
    "session_run_hook",
    "set_keras_session_npu_config",
    "set_split_strategy_by_idx",
    "set_split_strategy_by_size",
    "shutdown_resource",
    "tf",
    "util",
]
globals().update(parts)
__all__ += parts

decorator_tf_session()
