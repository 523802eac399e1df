"""Every name of npu_bridge by every path that scripts use, its checks, and what the functions do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("surface.py").read_text(encoding="utf-8")


def names(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


@pytest.fixture(scope="module")
def found(run: Any) -> dict[str, Any]:
    document: dict[str, Any] = run.printed("found")
    return document


def test_every_import_of_real_scripts_works(found: dict[str, Any]) -> None:
    assert found["missing"] == []


def test_the_star_import_has_the_vendors_names(found: dict[str, Any]) -> None:
    expected = names("""NPURunConfig ProfilingConfig MemoryConfig DumpConfig DynamicInputConfig decorator_tf_session
        NPUEstimator
        NPUEstimatorSpec NPUCheckpointSaverHook NPUOutputTensorHook NPUBroadcastGlobalVariablesHook
        SetIterationsVarHook TellMeStepOrLossHook NPUDistributedOptimizer KerasDistributeOptimizer
        npu_distributed_optimizer_wrapper NPUOptimizer npu_allreduce NPULossScaleOptimizer FixedLossScaleManager
        ExponentialUpdateLossScaleManager NPUBroadcastGlobalVariablesCallback npu_ops npu_rnn npu_scope keras_to_npu
        npu_strategy util npu_plugin npu_unary_ops hccl_ops profiler npu_cpu_ops scoped_graph_manager config_pb2
        rewriter_config_pb2 RewriterConfig session session_run_hook backend tf os create_group destroy_group
        get_rank_size get_local_rank_size get_rank_id get_local_rank_id get_world_rank_from_group_rank
        get_group_rank_from_world_rank set_split_strategy_by_idx set_split_strategy_by_size experimental_options
        npu_hooks_append npu_callbacks_append npu_config_proto npu_graph_options npu_optimizer_options
        npu_run_config_init set_keras_session_npu_config init_resource shutdown_resource close_session
        get_npu_rank_id get_npu_local_rank_id get_npu_rank_size get_npu_local_rank_size NpuEmptyHook
        npu_keras_optimizer npu_tf_optimizer npu_clear_session""")
    assert set(expected) - set(found["star"]) == set()
    assert found["profiler is the module"] == "npu_bridge.profiler.profiler"


def test_every_session_gets_the_entry_once(found: dict[str, Any]) -> None:
    assert found["wrapped once"]
    assert found["session"] == [["NpuOptimizer"], True, True, True]
    assert found["session with an entry"] == [["NpuOptimizer"], True, True, False]
    assert found["interactive session"] == [["NpuOptimizer"], True, True, True]
    assert found["npu_config_proto"] == [["NpuOptimizer"], True, True, True]
    assert found["npu_run_config_init"] == [["NpuOptimizer"], True, True, True]
    assert found["keras session"]


def test_checks_say_what_the_vendors_say(found: dict[str, Any]) -> None:
    assert found["messages"] == [
        "TypeError: iterations_per_loop must be int, got <class 'str'>",
        "ValueError: iterations_per_loop must be positive, got 0",
        'TypeError: "mix_compile_mode" type must be bool',
        'ValueError: "iterations_per_loop" must be 1 with "mix_compile_mode" is True',
        "TypeError: Expected str, got <class 'bool'>",
        "ValueError: `dump_config` must be provided with type `DumpConfig`",
        "ValueError: `experimental_config` must be provided with type `ExperimentalConfig`",
        "ValueError: dynamic_input_config must be provided with type DynamicInputConfig",
        'ValueError: "horovod_mode" type must be bool',
        'ValueError: "graph_run_mode" value must be 0 or 1',
        "ValueError: graph_run_mode must be nonnegative, got -1",
        "TypeError: graph_run_mode must be int, got <class 'float'>",
        "ValueError: enable_exception_dump must be nonnegative, got -1",
        "ValueError: `save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.",
        "ValueError: recompute must be auto or manual, got 'never'",
        "ValueError: `config` must be provided with type `NPUConfigs`",
        "ValueError: `config` must be provided with type `NPUConfigs`",
        (
            "ValueError: model_dir are set both in NPUEstimator and NPURunConfig, but with different values. In "
            "constructor: 'a', in NPURunConfig: 'b' "
        ),
        "AttributeError: 'str' object has no attribute '_enable_profiling'",
        "TypeError: 'str' object cannot be interpreted as an integer",
        "TypeError: Expected binary or unicode string, got {}",
        "ValueError: profiling options must be in `training_trace`, `task_trace` or `op_trace`",
        "ValueError: loss scale must be at least 1.",
        "ValueError: is_loss_scale is True, loss_scale_manager can not be None",
        "ValueError: The incoming 'train_op' type is 'float32', and the need type is 'Operation'",
        "ValueError: keep_prob must be a scalar tensor or a float in the range (0, 1], got 0",
        (
            "ValueError: x has to be a floating point tensor since it's going to be scaled. "
            "Got a <dtype: 'int32'> tensor instead."
        ),
        "ValueError: group 'hccl_world_group' has ranks 0 to 0, not 1",
        "ValueError: host_call should be tuple or list",
        "TypeError: enable_profiling must be True or False, got 1",
    ]
    assert found["cluster"] == [
        'ValueError: "cluster" and "distribute" must all be set in ps mode',
        'ValueError: "mix_compile_mode" can only be True with "cluster" is set',
        'ValueError: "cluster" and "distribute" must all be set in ps mode',
    ]
    assert found["strict job"] == (
        "ValueError: Load job info failed, please check whether `JOB_ID` is set in environment variable"
    )


def test_a_keyword_that_is_not_there_is_said_once(run: Any) -> None:
    said = [line for line in run.said if line.startswith("NPURunConfig has no")]
    assert said == [
        "NPURunConfig has no parameter auto_tune_mode; it is left out (AOE took its place)",
        "NPURunConfig has no parameter graph_memory_max_sise; it is left out (did you mean graph_memory_max_size?)",
    ]


def test_a_full_configuration_becomes_the_parameter_map(found: dict[str, Any]) -> None:
    assert found["entry"] == [
        "NpuOptimizer",
        names("pruning function constfold shape arithmetic loop dependency layout GradFusionOptimizer"),
    ]
    assert found["parameter map"] == PARAMETERS
    assert found["tuned"] == ["2", "./", 1]
    assert found["attributes"] == [3, 100, "allow_mix_precision", True]
    assert found["named"] == ["model_dir_", 20]


def test_a_plain_configuration_writes_what_is_always_written(found: dict[str, Any]) -> None:
    always = names("""enable_data_pre_proc mix_compile_mode use_off_line iterations_per_loop is_tailing_optimization
        min_group_size hcom_parallel graph_run_mode enable_exception_dump enable_small_channel deterministic
        enable_compress_weight hcom_multi_mode device_type jit_compile input_fusion_size stream_sync_timeout
        event_sync_timeout external_weight frozen_variable variable_placement enable_reduce_precision job task_index
        enable_dump enable_dump_debug experimental_logical_device_cluster_deploy_mode""")
    defaults = names("""buffer_optimize dynamic_graph_execute_mode graph_max_parallel_model_num export_compile_stat
        oo_constant_folding input_batch_cpy oo_level shape_generalization_mode all_tensor_not_empty jit_compile""")
    assert set(found["plain keys"]) == {*always, *defaults}


def test_profiling_is_configured_in_either_generation_of_arguments(found: dict[str, Any]) -> None:
    assert found["generations"] == [
        None,
        {"training_trace": "on", "task_trace": "on", "output": "./", "fp_point": "fp", "bp_point": "bp"},
        {"task_trace": "on", "output": "./"},
        {"output": "./", "fp_point": "fp"},
        "{not json",
        False,
    ]


def test_collectives_are_the_identity_on_one_rank(found: dict[str, Any]) -> None:
    assert found["ranks"] == [1, 0, 0, 1]
    assert found["one rank"] == [[1.0, 2.0]] * 4
    assert found["several ranks"] == [4, 1, 0, 3, 1, "ValueError: rank 2 is not in group 'half', which has [1, 3]"]


def test_optimizers_descend_as_the_one_inside(found: dict[str, Any]) -> None:
    assert found["descent"] == [[2.0, 2.5, 2.75]] * 7
    assert found["overflow"] == [1.0, 1.0, 1.0]
    assert found["scales"] == [8.0, 16.0, 16.0, 16.0, 16.0, 8.0, 8.0]
    assert found["keras optimizers"] == [True, True, 0.125, True, 0.125]


def test_operators_compute_what_the_devices_do(found: dict[str, Any]) -> None:
    assert found["marks"] == [1, 2]
    shape, results, difference, static_difference, beyond_the_end, full_length = found["lstm"]
    assert (shape, results) == ([5, 2, 4], 8)
    assert max(difference, static_difference, full_length) < 1e-6
    assert beyond_the_end == 0.0
    assert found["gru"] == [6, [5, 2, 4], True]
    assert found["gelu"] == pytest.approx([0.841192], abs=1e-6)
    dropped, error = found["dropout"]
    assert 0.2 < dropped < 0.3
    assert error < 1e-6
    assert found["queue"] == [[1.0, 2.0], None, "OutOfRangeError"]


def test_loops_of_steps_are_set_up(run: Any, found: dict[str, Any]) -> None:
    assert found["loop"] == ["IterationOp", True]
    assert found["loop variables"] == [9, 0, 0, 1]
    assert not [line for line in run.said if "iterations_per_loop" in line]
    assert found["hooks"] == ["NPUBroadcastGlobalVariablesHook", "int", "NPUBroadcastGlobalVariablesCallback"]


PARAMETERS = {
    "HCCL_algorithm": ["s", "level0:fullmesh"],
    "aicore_num": ["s", "8|16"],
    "all_tensor_not_empty": ["b", False],
    "atomic_clean_policy": ["i", 1],
    "buffer_optimize": ["s", "l2_optimize"],
    "compile_dynamic_mode": ["b", True],
    "debug_dir": ["s", "d"],
    "deterministic": ["i", 1],
    "device_type": ["s", "default_device_type"],
    "dump_data": ["s", "tensor"],
    "dump_debug_mode": ["s", "all"],
    "dump_layer": ["s", "a b"],
    "dump_mode": ["s", "all"],
    "dump_path": ["s", "/dump"],
    "dump_step": ["s", "0|5"],
    "dynamic_dims": ["s", "1;2"],
    "dynamic_graph_execute_mode": ["s", "dynamic_execute"],
    "dynamic_input": ["b", True],
    "dynamic_node_type": ["i", 0],
    "enable_compress_weight": ["b", False],
    "enable_data_pre_proc": ["b", True],
    "enable_dump": ["b", True],
    "enable_dump_debug": ["b", False],
    "enable_exception_dump": ["i", 2],
    "enable_reduce_precision": ["b", False],
    "enable_scope_fusion_passes": ["s", "pass"],
    "enable_small_channel": ["i", 0],
    "event_sync_timeout": ["i", -1],
    "experimental_logical_device_cluster_deploy_mode": ["s", "LB"],
    "experimental_logical_device_id": ["s", "[0]"],
    "export_compile_stat": ["i", 1],
    "external_weight": ["b", False],
    "frozen_variable": ["b", False],
    "fusion_switch_file": ["s", "f.cfg"],
    "graph_max_parallel_model_num": ["i", 1],
    "graph_memory_max_size": ["s", "1024"],
    "graph_run_mode": ["i", 1],
    "hccl_timeout": ["i", 600],
    "hcom_multi_mode": ["b", False],
    "hcom_parallel": ["b", True],
    "input_batch_cpy": ["b", False],
    "input_fusion_size": ["i", 131072],
    "input_shape": ["s", "x:-1"],
    "insert_op_file": ["s", "aipp.cfg"],
    "is_tailing_optimization": ["b", False],
    "iterations_per_loop": ["i", 3],
    "jit_compile": ["s", "auto"],
    "job": ["s", "localhost"],
    "local_device_list": ["s", "0,1"],
    "local_rank_id": ["i", 1],
    "memory_optimization_policy": ["s", "MemoryPriority"],
    "min_group_size": ["b", True],
    "mix_compile_mode": ["b", False],
    "oo_constant_folding": ["b", True],
    "oo_level": ["s", "O3"],
    "op_compiler_cache_dir": ["s", "c"],
    "op_compiler_cache_mode": ["s", "enable"],
    "op_debug_level": ["i", 1],
    "op_select_implmode": ["s", "high_precision"],
    "optypelist_for_implmode": ["s", "Pooling"],
    "precision_mode": ["s", "allow_mix_precision"],
    "profiling_mode": ["b", True],
    "profiling_options": ["s", '{"output":"./"}'],
    "resource_config_path": ["s", "r.json"],
    "session_device_id": ["i", 2],
    "shape_generalization_mode": ["s", "STRICT"],
    "static_memory_policy": ["i", 2],
    "stream_max_parallel_num": ["s", "DNN_V100:10"],
    "stream_sync_timeout": ["i", -1],
    "task_index": ["i", 0],
    "topo_sorting_mode": ["i", 1],
    "use_off_line": ["b", True],
    "variable_memory_max_size": ["s", "2048"],
    "variable_placement": ["s", "Device"],
    "variable_use_1g_huge_page": ["i", 0],
}
