"""
``npu_bridge.npu_init``: what a ported script calls, and what importing it does (tf_adapters.md 1.6).

The functions edit protos in place and return them, as the vendor's do.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from drynpu_tf.bridge import operators, ranks, utilities
from drynpu_tf.bridge._estimator_bases import RunConfigBase, need_estimator
from drynpu_tf.bridge.hooks import NPUBroadcastGlobalVariablesHook
from drynpu_tf.bridge.keras import NPUBroadcastGlobalVariablesCallback, keras_backend, keras_backend_if_there
from drynpu_tf.bridge.optimizers import KerasDistributeOptimizer, NPUDistributedOptimizer
from drynpu_tf.foreign import ConfigProto, Graph, Optimizer
from drynpu_tf.inside import session
from drynpu_tf.options import OPTIMIZER_NAME

_ENTRY = "_drynpu_adds_npu_optimizer"
"""Marks a constructor of sessions that is wrapped already."""

experimental_options: dict[str, Any] = {
    "disable_model_pruning": False,
    "function_optimization": RewriterConfig.ON,
    "constant_folding": RewriterConfig.ON,
    "shape_optimization": RewriterConfig.ON,
    "arithmetic_optimization": RewriterConfig.ON,
    "loop_optimization": RewriterConfig.ON,
    "dependency_optimization": RewriterConfig.ON,
    "layout_optimizer": RewriterConfig.ON,
}
"""Options that ported scripts pass to ``tf.config.optimizer``; a dict that they may change, as the vendor's."""

backend = keras_backend_if_there()
"""The backend of ``tf.keras``, which has its session; ``None`` with Keras 3, which has none."""


def set_npu_default_config(config_proto: config_pb2.ConfigProto) -> config_pb2.ConfigProto:
    """Turn off, in place, what would merge or compile operators before the device sees them, and return the proto."""
    config_proto.allow_soft_placement = True
    config_proto.log_device_placement = False
    rewrite = config_proto.graph_options.rewrite_options
    rewrite.remapping = RewriterConfig.OFF
    if not any(entry.name == OPTIMIZER_NAME for entry in rewrite.custom_optimizers):
        rewrite.custom_optimizers.add().name = OPTIMIZER_NAME
        rewrite.memory_optimization = RewriterConfig.OFF
    config_proto.graph_options.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return config_proto


def npu_config_proto(config_proto: ConfigProto = None) -> config_pb2.ConfigProto:
    """Return *config_proto*, or a new one in the place of anything else, with an ``NpuOptimizer`` entry."""
    if not isinstance(config_proto, config_pb2.ConfigProto):
        config_proto = config_pb2.ConfigProto()
    return set_npu_default_config(config_proto)


def decorator_tf_session() -> None:
    """
    Let every session have an ``NpuOptimizer`` entry: what importing ``npu_init`` does.

    ``Session`` and ``InteractiveSession`` are wrapped, once however often it is called.
    """
    for kind in (session.Session, session.InteractiveSession):
        original = kind.__init__
        if not getattr(original, _ENTRY, False):
            kind.__init__ = _with_entry(original)


def _with_entry(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(  # noqa: N807 - it takes the place of one
        self: Any, target: str = "", graph: Graph = None, config: ConfigProto = None
    ) -> None:
        original(self, target, graph, npu_config_proto(config))

    setattr(__init__, _ENTRY, True)
    return __init__


def npu_graph_options(graph_options: Any = None) -> config_pb2.GraphOptions:
    """Return *graph_options*, or new ones in the place of anything else, with just-in-time compilation off."""
    if not isinstance(graph_options, config_pb2.GraphOptions):
        graph_options = config_pb2.GraphOptions()
    graph_options.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return graph_options


def npu_optimizer_options(optimizer_options: Any = None) -> config_pb2.OptimizerOptions:
    """Return *optimizer_options*, or new ones in the place of anything else, with just-in-time compilation off."""
    if not isinstance(optimizer_options, config_pb2.OptimizerOptions):
        optimizer_options = config_pb2.OptimizerOptions()
    optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return optimizer_options


def npu_run_config_init(run_config: Any = None) -> Any:
    """Return *run_config*, or a new RunConfig in the place of anything else, whose sessions have the entry."""
    need_estimator("npu_run_config_init")
    if not isinstance(run_config, RunConfigBase):
        run_config = RunConfigBase()
    run_config.__dict__["_session_config"] = npu_config_proto(run_config.session_config)
    return run_config


def npu_hooks_append(hooks_list: object = ()) -> list[Any]:
    """Append the hook that broadcasts variables to a list; anything else is replaced by a new one."""
    hooks = hooks_list if isinstance(hooks_list, list) else []
    hooks.append(NPUBroadcastGlobalVariablesHook(0, int(os.environ.get("RANK_ID", "0"))))
    return hooks


def npu_callbacks_append(callbacks_list: object = ()) -> list[Any]:
    """Append the callback that broadcasts variables to a list; anything else is replaced by a new one."""
    callbacks = callbacks_list if isinstance(callbacks_list, list) else []
    callbacks.append(NPUBroadcastGlobalVariablesCallback(0))
    return callbacks


def set_keras_session_npu_config(config: ConfigProto = None) -> session.Session:
    """Give Keras a session with the entry, and return it."""
    opened = session.Session(config=npu_config_proto(config))
    keras_backend().set_session(opened)
    return opened


def npu_clear_session(config: ConfigProto = None) -> None:
    """Reset Keras, and give it a new session with the entry."""
    keras_backend().clear_session()
    keras_backend().set_session(session.Session(config=npu_config_proto(config)))


def init_resource(config: ConfigProto = None) -> tuple[session.Session, tf.Operation]:
    """Open the system: return a session with the entry, and the operator that `shutdown_resource` takes."""
    utilities.global_dict_init()
    start, stop = operators.initialize_system(), operators.shutdown_system()
    opened = session.Session(config=npu_config_proto(config))
    opened.run(start)
    utilities.set_value("npu_rank_id", ranks.get_rank_id())
    utilities.set_value("npu_local_rank_id", ranks.get_local_rank_id())
    utilities.set_value("npu_local_rank_size", ranks.get_local_rank_size())
    utilities.set_value("npu_rank_size", ranks.get_rank_size())
    return opened, stop


def shutdown_resource(sess: session.Session, npu_shutdown: tf.Operation) -> None:
    """Close the system."""
    sess.run(npu_shutdown)


def close_session(sess: session.Session) -> None:
    """Close a session."""
    sess.close()


def get_npu_rank_id() -> int:
    """Return the rank as `init_resource` found it, else 0."""
    return int(utilities.get_value("npu_rank_id", 0))


def get_npu_local_rank_id() -> int:
    """Return the rank on this server as `init_resource` found it, else 0."""
    return int(utilities.get_value("npu_local_rank_id", 0))


def get_npu_local_rank_size() -> int:
    """Return the number of ranks on this server as `init_resource` found it, else 1."""
    return int(utilities.get_value("npu_local_rank_size", 1))


def get_npu_rank_size() -> int:
    """Return the number of ranks as `init_resource` found it, else 1."""
    return int(utilities.get_value("npu_rank_size", 1))


def npu_keras_optimizer(opt: Optimizer) -> Optimizer:
    """Return a Keras optimizer that averages over the ranks."""
    return KerasDistributeOptimizer(opt)


def npu_tf_optimizer(opt: Optimizer) -> NPUDistributedOptimizer:
    """Return an optimizer that averages over the ranks."""
    return NPUDistributedOptimizer(opt)
