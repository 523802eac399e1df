"""Sets every option of npu_device and prints what the device is given of it, before and after."""

from __future__ import annotations

import json

import npu_device as npu
import tensorflow as tf
from npu_device.configs.npu_config import NpuConfig

GIVEN = {
    "graph_run_mode": 0,
    "graph_memory_max_size": 1024,
    "variable_memory_max_size": 2048,
    "variable_format_optimize": False,
    "enable_scope_fusion_passes": "pass",
    "fusion_switch_file": "fusion.cfg",
    "precision_mode": "force_fp16",
    "op_select_implmode": "high_precision",
    "optypelist_for_implmode": "Pooling",
    "op_compiler_cache_mode": "disable",
    "op_compiler_cache_dir": "cache",
    "stream_max_parallel_num": "engine:10",
    "ac_parallel_enable": "1",
    "quant_dumpable": "1",
    "hcom_parallel": False,
    "hcom_multi_mode": True,
    "is_tailing_optimization": True,
    "op_debug_level": 1,
    "op_debug_config": "debug.cfg",
    "debug_dir": "debug",
    "modify_mixlist": "mix.json",
    "enable_exception_dump": 1,
    "enable_small_channel": True,
    "deterministic": 1,
    "op_precision_mode": "op.ini",
    "graph_exec_timeout": 5,
    "topo_sorting_mode": 1,
    "customize_dtypes": "dtypes.cfg",
    "overflow_flag": 0,
    "stream_sync_timeout": 6,
    "event_sync_timeout": 7,
    "execute_times": 8,
    "external_weight": True,
    "jit_compile": "true",
    "graph_compiler_cache_dir": "graphs",
    "input_fusion_size": 4096,
    "compile_dynamic_mode": True,
    "precision_mode_v2": "fp16",
    "export_compile_stat": 2,
    "aicore_num": "8|16",
    "oo_constant_folding": False,
    "input_batch_cpy": True,
    "shape_generalization_mode": "FULL",
    "all_tensor_not_empty": True,
    "auto_multistream_parallel_mode": "cv",
    "oo_level": "O1",
    "optimization_switch": "pass:on",
}
NODES = {
    "dump_config": ("dump_path", "dumps"),
    "aoe_config": ("aoe_mode", "2"),
    "profiling_config": ("enable_profiling", True),
    "memory_config": ("static_memory_policy", 3),
    "experimental": ("enable_graph_parallel", True),
}
config = NpuConfig()
before = config.as_dict()
for name, value in GIVEN.items():
    setattr(config, name, value)
for node, (name, value) in NODES.items():
    setattr(getattr(config, node), name, value)
after = config.as_dict()
wanted = {**GIVEN, **dict(NODES.values())}
text = {name: {True: "1", False: "0"}.get(value, str(value)) for name, value in wanted.items() if value is not None}
text |= {name: str(value) for name, value in wanted.items() if isinstance(value, int) and not isinstance(value, bool)}
print(
    "lost=" + json.dumps({name: [value, after.get(name)] for name, value in text.items() if after.get(name) != value})
)
print("unchanged=" + json.dumps([name for name in text if before.get(name) == after[name]]))
run_options = npu.configs.run_context_options()
run_options.experimental.graph_memory_optimize_config.graph_slice = "auto"
print("run=" + json.dumps(run_options.as_dict()))
npu.npu_device.set_device_sat_mode(0)
print("infinite=" + json.dumps(npu.is_inf_nan_enabled()))
with tf.Graph().as_default():
    with npu.keep_dtype_scope():
        kept = tf.add(1.0, 2.0)
    with npu.npu_recompute_scope():
        again = tf.add(1.0, 2.0)
    print("marks=" + json.dumps([kept.op.get_attr("_keep_dtype"), again.op.get_attr("_recompute")]))


@npu.npu_compat_function(jit_compile=True)
def step(x):
    return tf.matmul(x, x)


options = npu.global_options()
options.profiling_config.enable_profiling = True
options.profiling_config.profiling_options = '{"output":"out","task_time":"on"}'
options.precision_mode = "force_fp16"
options.hcom_parallel = False
npu.open().as_default()
step(tf.ones((4, 4)))
