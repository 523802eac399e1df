"""Goes through the options of npu_device and prints what each attempt said; ends with a device that is open."""

from __future__ import annotations

import json
import os

import npu_device as npu
import tensorflow as tf
from npu_device.configs.npu_config import NpuConfig
from npu_device.configs.option_base import DeprecatedValue, NpuBaseConfig

said = {}


def attempt(name, call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is looked at
        said[name] = [type(error).__name__, str(error)]
    else:
        said[name] = None


def setting(node, name, value):
    return lambda: setattr(node, name, value)


def tree(node):
    """Defaults and allowed values by name, nodes as dicts."""
    found = {}
    for name in node._fixed_attrs:
        held = getattr(node, name)
        nested = isinstance(held, NpuBaseConfig)
        found[name] = tree(held) if nested else [held.default, held.optional, isinstance(held, DeprecatedValue)]
    return found


options = npu.global_options()
profiling = options.profiling_config
print("tree=" + json.dumps(tree(options)))
print("as_dict=" + json.dumps(options.as_dict()))
attempt("unknown", setting(options, "foo", 1))
attempt("unknown in a node", setting(profiling, "foo", 1))
attempt("type", setting(profiling, "enable_profiling", "True"))
attempt("value", setting(options, "precision_mode", "float8"))
attempt("bool for text", setting(options, "jit_compile", True))
attempt("retired", setting(options, "auto_tune_mode", "RL,GA"))
os.environ["DRYNPU_STRICT"] = "1"
attempt("retired, strictly", setting(options, "auto_tune_mode", "RL,GA"))
del os.environ["DRYNPU_STRICT"]
attempt("one is true", setting(profiling, "enable_profiling", 1))
print("truth=" + json.dumps([bool(NpuConfig().hcom_multi_mode), profiling.enable_profiling.value]))
options.op_debug_level = 1
options.variable_format_optimize = True
options.profiling_config.profiling_options = {"output": "x"}
print("converted=" + json.dumps(profiling.profiling_options.value))

for name, text in {
    "value refused": '{"output":"out","training_trace":"maybe"}',
    "missing quote": '{"output":"out","training_trace":"on",task_trace":"on"}',
    "unknown key": '{"output":"out","task_tracee":"on"}',
    "no output": '{"output":"","task_time":"on"}',
}.items():
    profiling.profiling_options = text
    attempt(name, npu.open)

profiling.enable_profiling = False
for name, environ in {
    "no cluster": {"RANK_SIZE": "8"},
    "two clusters": {"RANK_SIZE": "8", "CM_CHIEF_IP": "1.1.1.1", "RANK_TABLE_FILE": "t.json"},
    "two sizes": {"RANK_SIZE": "8", "CM_WORKER_SIZE": "8"},
    "no port": {"RANK_SIZE": "8", "CM_CHIEF_IP": "1.1.1.1"},
    "no rank": {"RANK_SIZE": "8", "RANK_TABLE_FILE": "t.json"},
}.items():
    os.environ.update(environ)
    attempt(name, npu.open)
    for variable in environ:
        del os.environ[variable]

os.environ["ASCEND_DEVICE_ID"] = "3"
handle = npu.open()
print("handle=" + json.dumps([handle.name(), handle is npu.open(3), handle.is_cluster_worker(), handle.workers_num]))
attempt("second device", lambda: npu.open(1))
print("default=" + json.dumps([npu.npu_device.global_npu_ctx() is None, handle.as_default() is handle]))
options.oo_level = "O1"

attempt("run context", lambda: npu.npu_run_context(options).__enter__())
run_options = npu.configs.run_context_options()
run_options.experimental.graph_memory_optimize_config.recompute = "manual"
with npu.npu_run_context(run_options), npu.keep_dtype_scope(), npu.npu_recompute_scope():
    tf.ones(1)
npu.set_npu_loop_size(10)
npu.npu_device.set_device_sat_mode(1)

variables = [tf.Variable([1.0])]
dataset = tf.data.Dataset.range(4)
sgd = tf.keras.optimizers.SGD()
print(
    "one_worker="
    + json.dumps(
        [
            npu.distribute.all_reduce(variables) is variables,
            npu.distribute.broadcast(variables),
            npu.distribute.shard_and_rebatch_dataset(dataset, 4) == (dataset, 4),
            npu.distribute.npu_distributed_keras_optimizer_wrapper(sgd) is sgd,
            npu.distribute.grouping_gradients_apply(lambda pairs, scale: [pairs, scale], [1], 2),
            npu.distribute.grouping_broadcast(variables) is variables,
        ]
    )
)
scaled = []
for inner in (tf.keras.optimizers.SGD(1.0), tf.keras.optimizers.legacy.SGD(1.0)):
    optimizer = npu.train.optimizer.NpuLossScaleOptimizer(inner, initial_scale=4)
    variable = tf.Variable([1.0])
    for gradient in (0.25, float("inf")):
        optimizer.apply_gradients([(tf.constant([gradient]), variable)])
        scaled.append([float(variable[0]), bool(optimizer.last_step_finite)])
    scaled.append(isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer))
print("scaled=" + json.dumps(scaled))
print("gelu=" + json.dumps([round(float(v), 4) for v in npu.ops.gelu(tf.constant([0.0, 1.0]))]))
attempt("vendor's operators", lambda: npu.gen_npu_ops.npu_get_float_status_v2())

npu.compat.enable_v1()
builder = npu.compat.v1.SessionConfigBuilder()
builder.parameter_map["profiling_mode"].b = True
builder.parameter_map["profiling_options"].s = b'{"output":"./v1_out","task_time":"on"}'
product = tf.matmul(tf.ones((4, 8)), tf.compat.v1.placeholder(tf.float32, (8, 2)), name="product")
with tf.compat.v1.Session(config=builder.session_config) as session:
    session.run(product, {product.op.inputs[1]: [[1.0] * 2] * 8})
print("said=" + json.dumps(said))
