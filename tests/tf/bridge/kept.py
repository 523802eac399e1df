"""Gives npu_bridge what it keeps, marks and checks, and prints what can be read back as one JSON document."""
# ruff: noqa: BLE001, E402, F403, F405 - a script of its time

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import numpy as np
from npu_bridge.npu_init import *

star = dict(globals())
from npu_bridge.estimator.npu import npu_hook
from npu_bridge.estimator.npu.npu_config import NpuExecutePlacement, set_npu_default_config
from npu_bridge.estimator.npu.npu_optimizer import allreduce

tf1 = tf.compat.v1
tf1.disable_eager_execution()
found = {}


def outcome(call, *arguments):
    """What a call returns, or its error as text."""
    try:
        return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# --- what the star import gives is what its home has ----------------------------------------
HOMES = {
    "npu_bridge.estimator.npu.npu_config": "NPURunConfig ProfilingConfig MemoryConfig DumpConfig DynamicInputConfig "
    "ExperimentalConfig decorator_tf_session",
    "npu_bridge.estimator.npu.npu_estimator": "NPUEstimator NPUEstimatorSpec",
    "npu_bridge.estimator.npu.npu_hook": "NPUCheckpointSaverHook NPUOutputTensorHook NPUBroadcastGlobalVariablesHook "
    "SetIterationsVarHook TellMeStepOrLossHook",
    "npu_bridge.estimator.npu.npu_optimizer": "NPUDistributedOptimizer KerasDistributeOptimizer NPUOptimizer "
    "npu_distributed_optimizer_wrapper npu_allreduce",
    "npu_bridge.estimator.npu.npu_loss_scale_optimizer": "NPULossScaleOptimizer",
    "npu_bridge.estimator.npu.npu_loss_scale_manager": "FixedLossScaleManager ExponentialUpdateLossScaleManager",
    "npu_bridge.estimator.npu.npu_callbacks": "NPUBroadcastGlobalVariablesCallback",
    "npu_bridge.estimator.npu.keras_to_npu": "model_to_npu_estimator",
    "npu_bridge.estimator.npu": "keras_to_npu npu_plugin npu_rnn npu_scope npu_strategy scoped_graph_manager util",
    "npu_bridge.estimator": "npu_ops",
    "npu_bridge.estimator.npu_unary_ops": "npu_unary_ops",
    "npu_bridge.npu_cpu": "npu_cpu_ops",
    "npu_bridge.hccl": "hccl_ops",
    "npu_bridge.profiler": "profiler",
    "hccl.manage.api": "create_group destroy_group get_rank_size get_local_rank_size get_rank_id get_local_rank_id "
    "get_world_rank_from_group_rank get_group_rank_from_world_rank",
    "hccl.split.api": "set_split_strategy_by_idx set_split_strategy_by_size",
    "tensorflow.core.protobuf": "config_pb2 rewriter_config_pb2",
    "tensorflow.core.protobuf.rewriter_config_pb2": "RewriterConfig",
    "tensorflow.python.client": "session",
    "tensorflow.python.training": "session_run_hook",
}
found["foreign"] = [
    name
    for home, names in HOMES.items()
    for name in names.split()
    if star[name] is not getattr(importlib.import_module(home), name)
]
found["plain"] = [star["os"] is os, hasattr(star["tf"], "Session"), star["backend"] is tf1.keras.backend]

# --- options ----------------------------------------
GIVEN = {
    "enable_data_pre_proc": False,
    "enable_reduce_precision": True,
    "mix_compile_mode": True,
    "hcom_parallel": False,
    "is_tailing_optimization": True,
    "graph_run_mode": 0,
    "enable_exception_dump": 1,
    "aoe_mode": "1",
    "work_path": "work",
    "buffer_optimize": "off_optimize",
    "enable_small_channel": 1,
    "enable_compress_weight": True,
    "compress_weight_conf": "weights.cfg",
    "hcom_multi_mode": True,
    "dynamic_graph_execute_mode": "lazy_recompile",
    "dynamic_inputs_shape_range": "getnext:[1~8]",
    "distribute_config": "ranks.json",
    "modify_mixlist": "mix.json",
    "op_precision_mode": "op.ini",
    "device_type": "device",
    "soc_config": "Ascend910B2",
    "op_wait_timeout": 7,
    "op_execute_timeout": 8,
    "customize_dtypes": "dtypes.cfg",
    "op_debug_config": "debug.cfg",
    "aoe_config_file": "aoe.json",
    "stream_sync_timeout": 9,
    "event_sync_timeout": 10,
    "external_weight": True,
    "frozen_variable": True,
    "variable_placement": "Host",
    "jit_compile": "true",
    "precision_mode_v2": "fp16",
    "ac_parallel_enable": "1",
    "quant_dumpable": "1",
    "input_fusion_size": 4096,
    "graph_max_parallel_model_num": 3,
    "export_compile_stat": 2,
    "oo_constant_folding": False,
    "input_batch_cpy": True,
    "shape_generalization_mode": "FULL",
    "all_tensor_not_empty": True,
    "auto_multistream_parallel_mode": "cv",
    "oo_level": "O1",
    "optimization_switch": "pass:on",
}
strategy = tf1.distribute.OneDeviceStrategy("/cpu:0")
BASE = {
    "model_dir": "model",
    "tf_random_seed": 5,
    "save_summary_steps": 6,
    "save_checkpoints_secs": 7,
    "keep_checkpoint_max": 8,
    "keep_checkpoint_every_n_hours": 9,
    "log_step_count_steps": 10,
}
config = NPURunConfig(
    **GIVEN,
    **BASE,
    session_config=tf1.ConfigProto(),
    variable_format_optimize=True,
    horovod_mode=True,
    train_distribute=strategy,
    eval_distribute=strategy,
)
estimator = NPUEstimator(lambda features: None, config=config)
(optimizer,) = estimator.config.session_config.graph_options.rewrite_options.custom_optimizers
held = {}
for name in GIVEN:
    slot = optimizer.parameter_map[name]
    value = getattr(slot, slot.WhichOneof("value") or "s")
    held[name] = value.decode() if isinstance(value, bytes) else value
found["lost"] = {name: [held[name], value] for name, value in GIVEN.items() if held[name] != value}
found["base"] = [getattr(estimator.config, name) for name in BASE] == list(BASE.values())
found["base"] = [found["base"], estimator.model_dir == "model", config.save_checkpoints_steps is None]
found["attributes"] = [config.variable_format_optimize, config.horovod_mode]
found["strategies"] = [config.train_distribute is strategy, config.eval_distribute is strategy]
os.environ["AOE_MODE"] = "2"
found["tuning makes one step in a run"] = NPURunConfig(iterations_per_loop=4).iterations_per_loop
del os.environ["AOE_MODE"]
os.environ["RESTORE_FROM"] = "elsewhere"
settings = NPUEstimator(lambda features: None, config=NPURunConfig(model_dir="m"))._warm_start_settings
found["restored"] = settings.ckpt_to_initialize_from
del os.environ["RESTORE_FROM"]
found["placements"] = [each.value for each in NpuExecutePlacement]
prepared = set_npu_default_config(tf1.ConfigProto())
found["prepared"] = [prepared.allow_soft_placement, len(prepared.graph_options.rewrite_options.custom_optimizers)]
off = config_pb2.OptimizerOptions.OFF
found["options off"] = [
    npu_graph_options().optimizer_options.global_jit_level == off,
    npu_optimizer_options().global_jit_level == off,
    experimental_options["constant_folding"] == RewriterConfig.ON,
]
with tf1.Session(config=prepared) as opened:
    found["allreduce"] = opened.run(allreduce(tf.constant([2.0, 4.0]))).tolist()

# --- scopes ----------------------------------------
marks = {}
for scope, names in (
    (npu_scope.keep_dtype_scope(), "_keep_dtype"),
    (npu_scope.npu_mem_type_scope(), "_output_memory_type"),
    (npu_scope.npu_recompute_scope(), "_recompute"),
    (npu_scope.npu_stage_scope(3), "_stage_level"),
    (npu_scope.npu_variable_scope(NpuExecutePlacement.HOST), "_variable_placement"),
    (npu_scope.npu_weight_prefetch_scope(4, 5), "_buffer_pool_id _buffer_pool_size"),
    (npu_scope.op_specified_engine_scope("engine", "library"), "_specified_engine_name _specified_kernel_lib_name"),
    (npu_scope.without_npu_compile_scope(), "_without_npu_compile"),
):
    with scope:
        marked = tf.add(1.0, 2.0)
    for name in names.split():
        value = marked.op.get_attr(name)
        marks[name] = value.decode() if isinstance(value, bytes) else value
found["marks"] = marks
configured = util.set_graph_exec_config(tf.add(1.0, 3.0), True, "lazy_recompile", "x:[1~2]")
found["executed"] = [
    configured.op.get_attr("_graph_dynamic_input"),
    configured.op.get_attr("_graph_dynamic_graph_execute_mode").decode(),
    configured.op.get_attr("_graph_dynamic_inputs_shape_range").decode(),
    outcome(util.set_graph_exec_config, configured, True, "sometimes"),
]

# --- util ----------------------------------------
found["checks"] = [
    outcome(util.check_bool_type, 1, "x"),
    outcome(util.check_mstune_mode, "5"),
    outcome(util.check_nonnegative_integer, -1, "x"),
    outcome(util.check_positive_integer, 0, "x"),
    outcome(util.check_not_none, None, "x"),
    outcome(util.check_path, "nowhere"),
    outcome(util.check_profiling_options, ["x"]),
    outcome(util.format_string, 3, "x"),
]
found["passed"] = [
    *(util.check_bool_type(True, "x"), util.check_mstune_mode("1"), util.check_nonnegative_integer(0, "x")),
    *(util.check_positive_integer(1, "x"), util.check_not_none(0, "x"), util.check_path(".") == os.path.realpath(".")),
    *(util.check_profiling_options(["task_trace", "op_trace"]), util.format_string(None, "x")),
    *(util.convert_bool_to_int(True), util.convert_bool_to_int("on"), util.get_ranksize()),
]
util.set_value("key", 1)
kept = [util.get_value("key"), util.get_value("other", 2)]
util.global_dict_init()
found["values"] = [*kept, util.get_value("key")]
with tf.Graph().as_default():
    counter = tf1.get_variable("counter", initializer=1.0, use_resource=True)
    grow = tf1.assign_add(counter, 1.0).op
    start = util.variable_initializer_in_host([counter])
    loop = util.IterationPerLoop()
    train = loop.create_iteration_per_loop_var(grow)
    util.register_func("steps")
    with tf1.Session() as opened:
        opened.run(start)
        opened.run(tf1.global_variables_initializer())
        loop.load_iteration_per_loop_var(opened, 5)
        util.npu_compile(opened, counter, grow)
        found["loop"] = [start.name, train.name, float(opened.run(counter))]
        found["turns"] = int(opened.run(util.create_or_get_var("iterations_per_loop")))

# --- hooks ----------------------------------------
with tf.Graph().as_default():
    step = tf1.train.get_or_create_global_step()
    grow = tf1.assign_add(step, 1)
    hooks = [
        SetIterationsVarHook(1),
        TellMeStepOrLossHook("step", 3),
        NpuEmptyHook(),
        npu_hook.NPULogOutfeedSessionHook(None),
        npu_hook.NPUShutDownHook(),
        npu_hook.NPUInfeedOutfeedSessionHook(),
        NPUCheckpointSaverHook("saved", save_steps=2),
        NPUBroadcastGlobalVariablesHook(0, 0),
    ]
    with tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(), hooks) as opened:
        steps = [int(opened.run(grow)) for _ in range(3)]
    found["hooked"] = steps
    found["saved"] = sorted(path.name for path in Path("saved").glob("*.index"))
    found["shut down"] = [hooks[4]._shutdown is not None, hooks[1]._total_step]

# --- the process ----------------------------------------
os.environ.update(RANK_SIZE="4", RANK_ID="3", LOCAL_RANK_ID="2", LOCAL_RANK_SIZE="3", DEVICE_ID="1")
create_group("pair", 2, [1, 3])
ranks = [get_rank_size("pair"), get_rank_id("pair"), get_local_rank_id(), get_local_rank_size()]
ranks += [get_world_rank_from_group_rank("pair", 0), get_group_rank_from_world_rank(3, "pair")]
destroy_group("pair")
found["ranks"] = [*ranks, outcome(get_rank_size, "pair")[:10]]
with tf.Graph().as_default():
    opened, shutdown = init_resource()
    found["resource"] = [get_npu_rank_id(), get_npu_local_rank_id(), get_npu_rank_size(), get_npu_local_rank_size()]
    shutdown_resource(opened, shutdown)
    close_session(opened)
    found["closed"] = outcome(opened.run, shutdown)[:12]
for name in ("RANK_SIZE", "RANK_ID", "LOCAL_RANK_ID", "LOCAL_RANK_SIZE", "DEVICE_ID"):
    del os.environ[name]
found["numbers"] = outcome(set_split_strategy_by_idx, [0], "nowhere")
found["shares"] = [set_split_strategy_by_size([60, 40]), outcome(set_split_strategy_by_size, [60, 50])]
with npu_strategy.NPUStrategy().scope():
    found["replicas"] = tf1.distribute.get_strategy().num_replicas_in_sync
before = backend.get_session()
npu_clear_session()
found["keras session"] = backend.get_session() is not before
npu_plugin.npu_resource_init(enable_profiling=True, profiling_options='{"output":"out","task_time":"on"}')
device = tf1.ConfigProto()
entry = device.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
entry["use_off_line"].b = True
entry["session_device_id"].i = 2
with tf.Graph().as_default():
    product = tf.matmul(tf1.placeholder(tf.float32, [4, 4], name="x"), tf.ones([4, 4]))
    with tf1.Session(config=device) as opened:
        opened.run([product, npu_unary_ops.gelu(product)], {"x:0": np.ones((4, 4))})
found["plugin"] = [npu_plugin.npu_resource_shutdown(), npu_plugin.npu_close(), os.environ["PROFILING_MODE"]]
print("found=" + json.dumps(found))
