"""Names, defaults, checks and messages of npu_device, and that refused profiling options fail at open()."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture(scope="module")
def run(scripts: Any, request: pytest.FixtureRequest) -> Any:
    return scripts(request.path.with_name("device_options.py"), environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(scope="module")
def said(run: Any) -> Any:
    return run.printed("said")


def test_tree(run: Any) -> None:
    tree = run.printed("tree")
    assert len(tree) == 50 + 2
    assert tree["graph_run_mode"] == [1, [0, 1], False]
    assert tree["enable_exception_dump"] == [2, [0, 1, 2], False]
    assert tree["jit_compile"] == ["auto", ["true", "false", "auto"], False]
    assert tree["input_fusion_size"] == [131072, None, False]
    assert tree["topo_sorting_mode"] == [None, [0, 1, None], False]
    assert tree["op_select_implmode"] == [None, ["high_performance", "high_precision"], True]
    assert tree["memory_config"]["static_memory_policy"] == [0, [0, 1, 2, 3, 4], False]
    assert tree["aoe_config"] == {
        "aoe_mode": [None, ["1", "2", "4"], False],
        "work_path": ["./", None, False],
        "aoe_config_file": [None, None, False],
    }
    experimental = tree["experimental"]
    assert experimental["graph_memory_optimize_config"]["recompute"] == [None, ["auto", "manual"], False]
    assert experimental["logical_device_deploy_config"]["logical_device_cluster_deploy_mode"][0] == "LB"
    deprecated = [name for name, option in tree.items() if isinstance(option, list) and option[2]]
    assert deprecated == ["variable_format_optimize", "op_select_implmode", "optypelist_for_implmode", "op_debug_level"]


def test_profiling_default_is_the_vendors_set(run: Any) -> None:
    default, allowed, _ = run.printed("tree")["profiling_config"]["profiling_options"]
    assert allowed is None
    assert json.loads(default) == {
        "output": "./",
        "training_trace": "on",
        "task_time": "on",
        "hccl": "on",
        "aicpu": "on",
        "aic_metrics": "PipeUtilization",
        "msproftx": "off",
    }


def test_as_dict_is_flat_text_without_what_is_not_set(run: Any) -> None:
    flat = run.printed("as_dict")
    assert flat["hcom_parallel"] == "1"
    assert flat["enable_profiling"] == "0"
    assert flat["stream_sync_timeout"] == "-1"
    assert flat["dump_mode"] == "output"
    assert "precision_mode" not in flat
    assert "profiling_config" not in flat


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unknown", "ValueError", "NpuConfig has no option foo, all options ['graph_run_mode', "),
        (
            "unknown in a node",
            "ValueError",
            "NpuProfilingConfig has no option foo, all options ['enable_profiling', 'profiling_options']",
        ),
        ("type", "TypeError", "Expected bool, got str"),
        ("value", "ValueError", "'float8' not in optional list ['force_fp32', "),
        ("bool for text", "TypeError", "Expected str, got bool"),
        ("retired, strictly", "ValueError", "NpuConfig has no option auto_tune_mode, all options "),
        ("no cluster", "RuntimeError", "CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured."),
        ("two clusters", "RuntimeError", "CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time."),
        ("two sizes", "ValueError", "RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time"),
        ("no port", "RuntimeError", "You must specify cm chief port by set env CM_CHIEF_PORT in distribution mode"),
        ("no rank", "RuntimeError", "You must specify rank id by set env RANK_ID in distribution mode"),
        ("second device", "RuntimeError", "Failed create npu instance on device 1 as existed instance on [3]"),
        ("run context", "ValueError", "options type must be NpuRunContextOptions"),
    ],
)
def test_messages_are_the_vendors(said: Any, name: str, kind: str, message: str) -> None:
    found, text = said[name]
    assert found == kind
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("value refused", "EK0001 value 'maybe' refused: Please input 'on' or 'off'"),
        ("missing quote", "EK0001 Ge option config should be a valid json string"),
        ("unknown key", "EK0001"),
        ("no output", "output"),
    ],
)
def test_refused_profiling_options_fail_at_open(said: Any, name: str, reason: str) -> None:
    kind, text = said[name]
    assert kind == "RuntimeError"
    assert text.startswith("Failed open npu device 0 : ")
    assert reason in text


def test_retired_names_pass_with_a_word(run: Any, said: Any) -> None:
    assert said["retired"] is None
    assert [line for line in run.said if "auto_tune_mode" in line]


def test_an_option_is_true_whatever_its_value(run: Any) -> None:
    assert run.printed("truth") == [True, "1"]


def test_one_counts_as_true_and_anything_as_text(run: Any, said: Any) -> None:
    assert said["one is true"] is None
    assert run.printed("converted") == "{'output': 'x'}"


def test_deprecated_options_warn_when_they_are_read(run: Any) -> None:
    line = "[warning][tf_adapter] Option '%s' is deprecated and will be removed in future version. %s"
    assert line % ("op_debug_level", "Please use 'op_debug_config' instead.") in run.stdout
    advice = "Please do not configure this option in the future."
    assert line % ("variable_format_optimize", advice) in run.stdout


def test_setting_after_open_is_told_to_have_no_effect(run: Any) -> None:
    assert [line for line in run.said if line.startswith("npu_device: oo_level was set after open()")]


def test_the_handle(run: Any) -> None:
    assert run.printed("handle") == ["/job:localhost/replica:0/task:0/device:NPU:3", True, False, 1]
    assert run.printed("default") == [True, True]


def test_one_worker_gets_back_what_it_gives(run: Any) -> None:
    assert run.printed("one_worker") == [True, None, True, True, [[1], 2], True]


def test_loss_scaling_leaves_out_steps_that_are_not_finite(run: Any) -> None:
    one = [[0.75, True], [0.75, False], True]
    assert run.printed("scaled") == [*one, *one]


def test_gelu(run: Any) -> None:
    assert run.printed("gelu") == [0.0, 0.8413]


def test_names_without_effect_say_so(run: Any, said: Any) -> None:
    assert [line for line in run.said if line.startswith("set_npu_loop_size(10) has no effect")]
    kind, text = said["vendor's operators"]
    assert kind == "AttributeError"
    assert "npu_get_float_status_v2" in text


def test_sessions_of_tensorflow_1_are_profiled(run: Any) -> None:
    assert run.prof("v1_out").column("op_summary", "Op Name")
    assert (run.prof("v1_out").path / "device_3").is_dir()
