"""NPUEstimator trains, evaluates and predicts what TensorFlow's Estimator does, and leaves its profiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("estimators.py").read_text(encoding="utf-8")
# Whatever has tf.estimator's own base module in the way of its import: as TensorFlow 2.16 and later.
WITHOUT = """
import json, sys
sys.modules["tensorflow_estimator"] = None
from npu_bridge.npu_init import *
tf1 = tf.compat.v1
said = []
for make in (NPURunConfig, lambda: NPUEstimatorSpec("train"), npu_run_config_init, model_to_npu_estimator):
    try:
        make()
    except ImportError as error:
        said.append(str(error))
try:
    NPUEstimator(None, config=object())
except ImportError as error:
    said.append(str(error))
with tf1.Graph().as_default(), tf1.Session() as sess:
    said.append(float(sess.run(NPUDistributedOptimizer(tf1.train.AdamOptimizer()) and tf1.constant(1.0))))
print("said=" + json.dumps([tf.__version__, said]))
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(scope="module")
def found(run: Any) -> dict[str, Any]:
    document: dict[str, Any] = run.printed("found")
    return document


def test_results_are_those_of_tensorflows_estimator_bit_for_bit(found: dict[str, Any]) -> None:
    losses, evaluated, predicted, checkpoints = found["plain"]
    assert len(losses) == 5
    assert losses[-1] < losses[0]
    assert len(predicted) == 64
    assert evaluated["global_step"] == 5
    assert checkpoints
    assert found["npu"] == found["plain"]
    assert found["npu spec"] == found["plain"]


def test_a_host_call_runs_with_every_step(found: dict[str, Any]) -> None:
    losses = found["plain"][0]
    assert [loss for loss, _ in found["host call"]] == pytest.approx(losses)
    assert len(found["host call"]) == 5
    assert found["outputs"] == [2, 2, 1]


def test_another_result_of_the_model_function_is_refused(found: dict[str, Any]) -> None:
    ending = "must have type `NPUEstimatorSpec` or `EstimatorSpec`. Got <class 'int'>"
    assert found["wrong spec"] == [
        f"estimator_spec used by NPU train {ending}",
        f"estimator_spec used by NPU evaluate {ending}",
    ]


def test_keras_models_become_estimators(found: dict[str, Any]) -> None:
    assert found["keras"] == "NPUEstimator"
    assert found["keras loss"] < 1.0  # all weights one is nearly the answer: they came along


def test_training_evaluation_and_prediction_leave_one_profile_each(run: Any) -> None:
    training, evaluation, prediction = run.profs("out")
    assert training.column("op_summary", "OP Type").count("ApplyAdamD") == 5 * 4
    for prof in (training, evaluation, prediction):
        assert "MatMulV2" in prof.column("op_summary", "OP Type")
    assert "ApplyAdamD" not in evaluation.column("op_summary", "OP Type")


def test_a_run_makes_the_steps_of_a_loop(run: Any, found: dict[str, Any]) -> None:
    losses = found["plain"][0]
    assert found["loop"] == [[losses[1], losses[3]], 4]
    assert not [line for line in run.said if "iterations_per_loop" in line]


def test_the_example_trains_as_without_the_npu(scripts: Any, example: Path) -> None:
    program = example / "train_estimator.py"
    plain = scripts(program, "--steps", "4", "--plain")
    profiled = scripts(program, "--steps", "4", environment={"DRYNPU_QUIET": "1", "DRYNPU_CHIP": "Ascend910A"})
    assert profiled.stdout == plain.stdout
    assert plain.stdout.count("loss ") == 5
    training = profiled.profs("tf_out")[0]
    # Initialisers, checkpoints and reads of the global step take no data: only steps have rows, each with its points.
    steps = training.rows("step_trace")
    assert len(steps) == 4
    assert all(row["Iteration Refresh(us)"] == "N/A" or float(row["Iteration Refresh(us)"]) > 0 for row in steps)
    taking = [row for row in training.rows("op_summary") if row["Op Name"] == "trans_TransData_0"]
    assert {row["FP Start(us)"] for row in steps} <= {row["Task Start Time(us)"] for row in taking}
    assert {"op_summary.csv", "op_statistic.csv", "step_trace.csv", "task_time.csv", "aicpu.csv"} <= training.stems
    for prof, batches in zip(profiled.profs("tf_out"), (4, 8, 8), strict=True):
        assert prof.column("dp", "Source") == ["IteratorV2"] * batches
        assert prof.column("op_summary", "OP Type").count("GetNext") == batches
        assert [event["name"] for event in prof.trace("step_trace")].count("GetNext") == batches


def test_without_tensorflows_estimator_everything_else_works_and_it_says_where_it_is(scripts: Any) -> None:
    version, said = scripts(WITHOUT).printed("said")
    names = ("NPURunConfig", "NPUEstimatorSpec", "npu_run_config_init", "model_to_npu_estimator", "NPUEstimator")
    assert said == [
        *(
            f"{name} needs tf.estimator, which TensorFlow {version} does not have: it was removed in 2.16. "
            "The last version with it is 2.15: pip install 'tensorflow-cpu>=2.15,<2.16'"
            for name in names
        ),
        1.0,
    ]


def test_no_line_about_deprecations_names_calls_of_ours(scripts: Any, example: Path) -> None:
    text = (example / "train_estimator.py").read_text(encoding="utf-8")
    loud = text.replace("tf.logging.set_verbosity(tf.logging.ERROR)", "tf.logging.set_verbosity(tf.logging.WARN)")
    run = scripts(loud, "--steps", "2")
    summaries = [line.replace("│", " ").split() for line in run.stdout.splitlines() + run.stderr.splitlines()]
    # The last of three sessions predicts: eight iterations of one graph.
    assert [line[1] for line in summaries if line and line[0].startswith("GeOp")] == ["8"]
    deprecated = [line for line in run.stderr.splitlines() if "is deprecated and will be removed" in line]
    # TensorFlow's own calls, and the script's, still say so.
    assert any("script.py" in line for line in deprecated)
    ours = re.compile(r"drynpu_tf|npu_bridge|npu_device")
    assert not [line for line in deprecated if ours.search(line.partition(" is deprecated")[0])]
