"""What npu_bridge keeps can be read back, its checks say what the vendor's say, its marks are on the operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("kept.py")


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(scope="module")
def found(run: Any) -> dict[str, Any]:
    document: dict[str, Any] = run.printed("found")
    return document


@pytest.mark.slow
def test_the_star_import_gives_the_objects_of_their_modules(found: dict[str, Any]) -> None:
    assert found["foreign"] == []
    assert found["plain"] == [True] * 3
    assert found["options off"] == [True] * 3


def test_every_option_that_is_given_is_in_the_parameter_map(found: dict[str, Any]) -> None:
    assert found["lost"] == {}
    assert found["attributes"] == [True, True]


def test_what_tensorflow_takes_is_handed_to_it(found: dict[str, Any]) -> None:
    assert found["base"] == [True, True, True]
    assert found["strategies"] == [True, True]
    assert found["restored"] == "elsewhere"
    assert found["tuning makes one step in a run"] == 1
    assert found["prepared"] == [True, 1]
    assert found["allreduce"] == [2.0, 4.0]


def test_scopes_mark_their_operators(found: dict[str, Any]) -> None:
    assert found["marks"] == {
        "_keep_dtype": 1,
        "_output_memory_type": 1,
        "_recompute": True,
        "_stage_level": 3,
        "_variable_placement": "host",
        "_buffer_pool_id": 4,
        "_buffer_pool_size": 5,
        "_specified_engine_name": "engine",
        "_specified_kernel_lib_name": "library",
        "_without_npu_compile": True,
    }
    assert found["placements"] == ["all", "cube", "vector", "taishan", "dvpp", "host"]
    *marks, refused = found["executed"]
    assert marks == [True, "lazy_recompile", "x:[1~2]"]
    assert refused == "ValueError: dynamic_graph_execute_mode should be lazy_recompile or dynamic_execute"


def test_checks_say_what_the_vendors_say(found: dict[str, Any]) -> None:
    assert found["checks"] == [
        "TypeError: x must be True or False, got 1",
        "ValueError: mstune_mode is valid, should be in ['1', '2', '3', '4']",
        "ValueError: x must be nonnegative, got -1",
        "ValueError: x must be positive, got 0",
        "ValueError: x must not be None",
        "ValueError: path:nowhere is not exists.",
        "ValueError: profiling options must be in `training_trace`, `task_trace` or `op_trace`",
        "TypeError: x must be string, got <class 'int'>",
    ]
    assert found["passed"] == [None, None, None, None, None, True, "task_trace:op_trace", "", 1, -1, 1]


def test_values_and_loops_of_the_process(found: dict[str, Any]) -> None:
    assert found["values"] == [1, 2, None]
    assert found["loop"] == ["var_in_host", "IterationOp", 2.0]
    assert found["turns"] == 4


def test_hooks_leave_the_steps_alone_and_save(found: dict[str, Any]) -> None:
    assert found["hooked"] == [1, 2, 3]
    assert {"model.ckpt-0.index", "model.ckpt-2.index"} <= set(found["saved"]), "every two steps"
    assert found["shut down"] == [True, 3]


def test_ranks_are_those_of_the_environment(found: dict[str, Any]) -> None:
    assert found["ranks"] == [2, 1, 2, 3, 1, 1, "ValueError"]
    assert found["resource"] == [3, 2, 4, 3]
    assert found["closed"] == "RuntimeError"
    assert found["shares"] == [None, "ValueError: dataSizeList [60, 50] is 110 % together, not 100"]
    assert found["numbers"].startswith("ValueError: group 'nowhere' was not created")
    assert found["replicas"] == 1
    assert found["keras session"]


def test_a_session_is_that_of_the_device_and_the_profile_that_the_plugin_was_told(
    run: Any, found: dict[str, Any]
) -> None:
    assert found["plugin"] == [None, None, "true"]
    prof = run.prof()
    assert {"MatMulV2", "Gelu"} <= set(prof.column("op_summary", "OP Type"))
    assert (prof.path / "device_2").is_dir()
