"""Calls the names of npu_bridge as scripts do, and prints what came of it as one JSON document."""
# ruff: noqa: BLE001, E402, F403, F405 - a script of its time

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

PATHS = {
    "npu_bridge.estimator": ["npu_ops", "npu_unary_ops"],
    "npu_bridge.estimator.npu_ops": ["initialize_system", "shutdown_system", "dropout", "LARSV2"],
    "npu_bridge.estimator.npu_unary_ops": ["npu_unary_ops"],
    "npu_bridge.estimator.npu": ["npu_scope", "util", "npu_config", "npu_plugin", "npu_rnn", "npu_convert_dropout"],
    "npu_bridge.estimator.npu.npu_config": [
        "NPURunConfig",
        "ProfilingConfig",
        "DumpConfig",
        "MemoryConfig",
        "GraphMemoryOptimizeConfig",
        "ExperimentalConfig",
        "DynamicInputConfig",
        "NpuExecutePlacement",
        "set_npu_default_config",
        "decorator_tf_session",
    ],
    "npu_bridge.estimator.npu.npu_estimator": ["NPUEstimator", "NPUEstimatorSpec"],
    "npu_bridge.estimator.npu.npu_optimizer": [
        "NPUDistributedOptimizer",
        "NPUOptimizer",
        "KerasDistributeOptimizer",
        "npu_distributed_optimizer_wrapper",
        "npu_allreduce",
        "allreduce",
    ],
    "npu_bridge.estimator.npu.npu_loss_scale_optimizer": ["NPULossScaleOptimizer"],
    "npu_bridge.estimator.npu.npu_loss_scale_manager": ["FixedLossScaleManager", "ExponentialUpdateLossScaleManager"],
    "npu_bridge.estimator.npu.npu_hook": ["NPUCheckpointSaverHook", "NPUBroadcastGlobalVariablesHook"],
    "npu_bridge.estimator.npu.npu_scope": ["without_npu_compile_scope", "keep_dtype_scope", "npu_variable_scope"],
    "npu_bridge.estimator.npu.npu_dynamic_rnn": ["DynamicRNN", "DynamicGRUV2"],
    "npu_bridge.estimator.npu.npu_convert_dropout": ["dropout_call"],
    "npu_bridge.estimator.npu.npu_callbacks": ["NPUBroadcastGlobalVariablesCallback"],
    "npu_bridge.estimator.npu.keras_to_npu": ["model_to_npu_estimator"],
    "npu_bridge.estimator.npu.npu_strategy": ["NPUStrategy"],
    "npu_bridge.estimator.npu.npu_plugin": ["npu_resource_init", "npu_resource_shutdown"],
    "npu_bridge.estimator.npu.util": [
        "set_iteration_per_loop",
        "variable_initializer_in_host",
        "set_graph_exec_config",
    ],
    "npu_bridge.hccl": ["hccl_ops"],
    "npu_bridge.hccl.hccl_ops": ["allreduce", "allgather", "broadcast", "reduce_scatter", "send", "receive"],
    "npu_bridge.profiler.profiler": ["Profiler"],
    "npu_bridge.helper.helper": ["get_gen_ops"],
    "npu_bridge.npu_cpu": ["npu_cpu_ops"],
    "hccl.manage.api": ["create_group", "get_rank_size", "get_rank_id", "get_local_rank_id", "get_local_rank_size"],
    "hccl.split.api": ["set_split_strategy_by_idx", "set_split_strategy_by_size"],
}

found = {}


def outcome(call):
    """What a call returns, or its error as text."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


missing = []
for path, names in PATHS.items():
    for name in names:
        try:
            exec(f"from {path} import {name}", {})
        except ImportError as error:
            missing.append(str(error))
found["missing"] = missing

star = {}
exec("from npu_bridge.npu_init import *", star)
found["star"] = sorted(name for name in star if not name.startswith("__"))
found["profiler is the module"] = star["profiler"].__name__

from npu_bridge.estimator.npu.npu_config import ExperimentalConfig, GraphMemoryOptimizeConfig
from npu_bridge.npu_init import *

tf1 = tf.compat.v1
tf1.disable_eager_execution()

# --- sessions ---------------------------------------------------------------------------------------------------------
before = session.Session.__init__
decorator_tf_session()
found["wrapped once"] = session.Session.__init__ is before


def entry(config):
    rewrite = config.graph_options.rewrite_options
    return [
        [optimizer.name for optimizer in rewrite.custom_optimizers],
        config.allow_soft_placement,
        rewrite.remapping == RewriterConfig.OFF,
        rewrite.memory_optimization == RewriterConfig.OFF,
    ]


with tf1.Session() as opened:
    found["session"] = entry(opened._config)
given = tf1.ConfigProto()
given.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"
with tf1.Session(config=given) as opened:
    found["session with an entry"] = entry(opened._config)
opened = tf1.InteractiveSession()
found["interactive session"] = entry(opened._config)
opened.close()
found["npu_config_proto"] = entry(npu_config_proto(npu_config_proto("no proto")))
found["npu_run_config_init"] = entry(npu_run_config_init().session_config)
keras_session = set_keras_session_npu_config()
found["keras session"] = backend.get_session() is keras_session

# --- messages ---------------------------------------------------------------------------------------------------------
C = NPURunConfig
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"chief": ["h:1"], "ps": ["h:2"]}, "task": {"type": "ps", "index": 0}})
servers = object.__new__(tf1.distribute.experimental.ParameterServerStrategy)
found["cluster"] = [outcome(lambda: C()), outcome(lambda: C(distribute=servers))]
del os.environ["TF_CONFIG"]
found["cluster"].append(outcome(lambda: C(distribute=servers)))
found["messages"] = [
    outcome(lambda: C(iterations_per_loop="2")),
    outcome(lambda: C(iterations_per_loop=0)),
    outcome(lambda: C(mix_compile_mode=1)),
    outcome(lambda: C(mix_compile_mode=True, iterations_per_loop=2)),
    outcome(lambda: C(jit_compile=True)),
    outcome(lambda: C(dump_config={})),
    outcome(lambda: C(experimental_config={})),
    outcome(lambda: C(dynamic_input_config={})),
    outcome(lambda: C(horovod_mode="no")),
    outcome(lambda: C(graph_run_mode=2)),
    outcome(lambda: C(graph_run_mode=-1)),
    outcome(lambda: C(graph_run_mode=1.0)),
    outcome(lambda: C(enable_exception_dump=-1)),
    outcome(lambda: C(save_checkpoints_steps=1, save_checkpoints_secs=1)),
    outcome(lambda: GraphMemoryOptimizeConfig(recompute="never")),
    outcome(lambda: NPUEstimator(lambda features: None, config=None)),
    outcome(lambda: NPUEstimator(lambda features: None, config=tf.estimator.RunConfig())),
    outcome(lambda: NPUEstimator(lambda features: None, model_dir="a", config=C(model_dir="b"))),
    outcome(lambda: NPUEstimator(lambda features: None, config=C(profiling_config="on"))),
    outcome(lambda: NPUEstimator(lambda features: None, config=C(profiling_config=ProfilingConfig("on")))),
    outcome(lambda: NPUEstimator(lambda features: None, config=C(profiling_config=ProfilingConfig(True, {})))),
    outcome(lambda: ProfilingConfig(True, enable_options=["no_trace"])),
    outcome(lambda: FixedLossScaleManager(0.5)),
    outcome(lambda: NPUOptimizer(None, is_loss_scale=True)),
    outcome(lambda: util.set_iteration_per_loop(None, tf.constant(1.0))),
    outcome(lambda: npu_ops.dropout(tf.constant([1.0]), 0.0)),
    outcome(lambda: npu_ops.dropout(tf.constant([1]), 0.5)),
    outcome(lambda: hccl_ops.receive([1], tf.float32, 0, 1)),
    outcome(lambda: NPUEstimatorSpec("train", loss=tf.constant(1.0), train_op=tf.no_op(), host_call=1)),
    outcome(lambda: npu_plugin.npu_resource_init(enable_profiling=1)),
]
os.environ["DRYNPU_STRICT"] = "1"
found["strict job"] = outcome(lambda: NPUEstimator(lambda features: None, config=C(model_dir="m")))
del os.environ["DRYNPU_STRICT"]
C(auto_tune_mode="GA", graph_memory_max_sise=1)
C(auto_tune_mode="RL")

# --- parameter map ----------------------------------------------------------------------------------------------------
config = C(
    iterations_per_loop=3,
    profiling_config=ProfilingConfig(True, '{"output":"./"}'),
    session_config=tf1.ConfigProto(),
    precision_mode="allow_mix_precision",
    graph_memory_max_size=1024,
    variable_memory_max_size="2048",
    dump_config=DumpConfig(True, "/dump", "0|5", "all", dump_layer="a b"),
    stream_max_parallel_num="DNN_V100:10",
    op_debug_level=1,
    enable_scope_fusion_passes="pass",
    op_select_implmode="high_precision",
    optypelist_for_implmode="Pooling",
    dynamic_input_config=DynamicInputConfig("x:-1", "1;2", 0),
    fusion_switch_file="f.cfg",
    op_compiler_cache_mode="enable",
    op_compiler_cache_dir="c",
    debug_dir="d",
    dynamic_input=True,
    local_rank_id=1,
    local_device_list="0,1",
    session_device_id=2,
    hccl_timeout=600,
    HCCL_algorithm="level0:fullmesh",
    memory_config=MemoryConfig(1, 2, "MemoryPriority"),
    experimental_config=ExperimentalConfig(logical_device_id="[0]", resource_config_path="r.json"),
    topo_sorting_mode=1,
    insert_op_file="aipp.cfg",
    compile_dynamic_mode=True,
    aicore_num="8|16",
    deterministic=1,
)
estimator = NPUEstimator(lambda features: None, config=config, model_dir="model")
(optimizer,) = estimator.config.session_config.graph_options.rewrite_options.custom_optimizers
members = {key: value.WhichOneof("value") for key, value in optimizer.parameter_map.items()}
found["parameter map"] = {
    key: [
        member,
        getattr(optimizer.parameter_map[key], member).decode()
        if member == "s"
        else getattr(optimizer.parameter_map[key], member),
    ]
    for key, member in sorted(members.items())
}
found["entry"] = [optimizer.name, list(estimator.config.session_config.graph_options.rewrite_options.optimizers)]
plain = NPUEstimator(lambda features: None, config=C(), model_dir="model2").config.session_config
found["plain keys"] = sorted(plain.graph_options.rewrite_options.custom_optimizers[0].parameter_map)
tuned = NPUEstimator(lambda features: None, config=C(aoe_mode="2", iterations_per_loop=9), model_dir="model3")
tuned = tuned.config.session_config.graph_options.rewrite_options.custom_optimizers[0].parameter_map
found["tuned"] = [tuned["aoe_mode"].s.decode(), tuned["work_path"].s.decode(), tuned["iterations_per_loop"].i]
found["attributes"] = [
    config.iterations_per_loop,
    config.save_checkpoints_steps,
    config._precision_mode,
    C()._hcom_parallel,
]
named = Path(NPUEstimator(lambda features: None, config=C()).model_dir).name
found["named"] = [named[:10], len(named)]


def options_of(profiling):
    profiling = profiling._profiling_options
    return json.loads(profiling) if isinstance(profiling, str) else profiling


found["generations"] = [
    options_of(ProfilingConfig(enable_profiling=True)),
    options_of(ProfilingConfig(True, ["training_trace", "task_trace"], "fp", "bp")),
    options_of(ProfilingConfig(enable_profiling=True, enable_options=["op_trace"])),
    options_of(ProfilingConfig(True, '{"output":"./"}', fp_point="fp")),
    ProfilingConfig(True, "{not json", fp_point="fp")._profiling_options,
    ProfilingConfig()._enable_profiling,
]

# --- ranks and collectives --------------------------------------------------------------------------------------------
two = tf.constant([1.0, 2.0])
one_rank = [
    hccl_ops.allreduce(two, "sum"),
    hccl_ops.allgather(two, 1),
    hccl_ops.broadcast([two], 0)[0],
    npu_allreduce(two),
]
found["ranks"] = [get_rank_size(), get_rank_id(), get_local_rank_id(), get_npu_rank_size()]
os.environ.update(RANK_SIZE="4", RANK_ID="1")
create_group("half", 2, [1, 3])
found["several ranks"] = [
    get_rank_size(),
    get_rank_id(),
    get_rank_id("half"),
    get_world_rank_from_group_rank("half", 1),
    get_group_rank_from_world_rank(3, "half"),
    outcome(lambda: get_group_rank_from_world_rank(2, "half")),
]
for name in ("RANK_SIZE", "RANK_ID"):
    del os.environ[name]

# --- optimizers -------------------------------------------------------------------------------------------------------


def descend(wrap, target=3.0, steps=3):
    """Values of a variable under gradient descent."""
    with tf.Graph().as_default(), tf1.Session() as opened:
        place = tf1.get_variable("place", initializer=1.0)
        update = wrap(tf1.train.GradientDescentOptimizer(0.25)).minimize((place - target) ** 2)
        opened.run(tf1.global_variables_initializer())
        return [float(opened.run([update, place])[1] * 0 + opened.run(place)) for _ in range(steps)]


def scaled(wrap_manager):
    return lambda inner: NPULossScaleOptimizer(inner, wrap_manager())


found["descent"] = [
    descend(lambda inner: inner),
    descend(NPUDistributedOptimizer),
    descend(npu_tf_optimizer),
    descend(npu_distributed_optimizer_wrapper),
    descend(lambda inner: NPUOptimizer(inner, FixedLossScaleManager(1024), is_distributed=True, is_loss_scale=True)),
    descend(scaled(lambda: FixedLossScaleManager(1024))),
    descend(scaled(lambda: ExponentialUpdateLossScaleManager(1024, 2))),
]
found["overflow"] = descend(scaled(lambda: FixedLossScaleManager(1024)), target=float("inf"))
with tf.Graph().as_default(), tf1.Session() as opened:
    manager = ExponentialUpdateLossScaleManager(8.0, 2, 2, incr_ratio=2, decr_ratio=0.5)
    finite = tf1.placeholder(tf.bool, [])
    update = manager.update_loss_scale(finite)
    opened.run(tf1.global_variables_initializer())
    scales = []
    for ok in (True, True, True, False, True, False, False):
        opened.run(update, {finite: ok})
        scales.append(float(opened.run(manager.get_loss_scale())))
    found["scales"] = scales

keras_optimizer = KerasDistributeOptimizer(tf.keras.optimizers.legacy.SGD(0.125))
newer = npu_keras_optimizer(tf.keras.optimizers.Adam(0.5))
found["keras optimizers"] = [
    isinstance(keras_optimizer, tf.keras.optimizers.legacy.SGD),
    isinstance(keras_optimizer, KerasDistributeOptimizer),
    keras_optimizer.get_config()["learning_rate"],
    isinstance(newer, tf.keras.optimizers.Adam),
    type(keras_optimizer).from_config(keras_optimizer.get_config()).get_config()["learning_rate"],
]

# --- operators --------------------------------------------------------------------------------------------------------
with npu_scope.keep_dtype_scope(), npu_scope.npu_stage_scope(2):
    marked = two + 1.0
found["marks"] = [marked.op.get_attr("_keep_dtype"), marked.op.get_attr("_stage_level")]
queue_in = npu_ops.outfeed_enqueue_op("channel", [two])
(queue_out,) = npu_ops.outfeed_dequeue_op("channel", [tf.float32], [[2]])
stop = npu_ops.stop_outfeed_dequeue_op("channel")
sequence = tf.constant(np.random.RandomState(0).rand(5, 2, 3), tf.float32)
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicGRUV2, DynamicRNN

lstm, gru = DynamicRNN(4, tf.float32, forget_bias=1.0), DynamicGRUV2(4, tf.float32)
lstm_out = lstm(sequence)
lstm_short = lstm(sequence, seq_length=tf.constant([2, 5]))
gru_out = gru(sequence)
gru_slope = tf1.gradients(gru_out[0], sequence)[0]
cell = tf1.nn.rnn_cell.BasicLSTMCell(4)
theirs, _ = tf1.nn.dynamic_rnn(cell, sequence, dtype=tf.float32, time_major=True)
unrolled, _ = npu_rnn.npu_dynamic_rnn(cell, sequence, dtype=tf.float32)
train_op = tf.no_op()
kept = tf.random.stateless_uniform([1000], [1, 2])
dropped = npu_ops.dropout(kept, 0.75, seed=1)
opened, shutdown = init_resource()
with opened:
    opened.run(tf1.global_variables_initializer())
    # BasicLSTMCell has the same gates in the same order.
    opened.run([tf1.assign(lstm._weights["w"], cell._kernel), tf1.assign(lstm._weights["b"], cell._bias)])
    ours, plain, static, short = opened.run([lstm_out[0], theirs, unrolled, lstm_short[0]])
    found["lstm"] = [
        list(ours.shape),
        len(lstm_out),
        float(np.abs(ours - plain).max()),
        float(np.abs(static - plain).max()),
        float(np.abs(short[2:, 0]).max()),
        float(np.abs(short[:, 1] - plain[:, 1]).max()),
    ]
    found["gru"] = [len(gru_out), list(opened.run(gru_out[0]).shape), bool((opened.run(gru_slope) != 0).all())]
    found["one rank"] = [value.tolist() for value in opened.run(one_rank)]
    found["gelu"] = opened.run(npu_unary_ops.gelu(tf.constant([1.0]))).tolist()
    whole, some = opened.run([kept, dropped])
    found["dropout"] = [float((some == 0).mean()), float(np.abs(some[some != 0] - whole[some != 0] / 0.75).max())]
    opened.run(queue_in)
    found["queue"] = [opened.run(queue_out).tolist(), opened.run(stop), outcome(lambda: opened.run(queue_out))[:15]]
    looped = util.set_iteration_per_loop(opened, train_op, 10)
    found["loop"] = [looped.name, util.set_iteration_per_loop(opened, train_op) is train_op]
    found["loop variables"] = [
        int(opened.run(util.create_or_get_var(name))) for name in ("iterations_per_loop", "loop_cond", "zero", "one")
    ]
    shutdown_resource(opened, shutdown)
found["hooks"] = [type(each).__name__ for each in npu_hooks_append() + npu_callbacks_append([1])]
print("found=" + json.dumps(found))
