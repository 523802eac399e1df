"""Steps of a recording that raise: each costs what it gathers, one line names it, and the training is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("lost_parts.py")
RUNS = "some runs of a session cannot be recorded, everything else is"
METRICS = "the metrics of the host cannot be recorded, everything else is"
OF_SESSIONS = {
    "drynpu_tf.capture._session_run:SessionCapture.prepare": RUNS,
    "drynpu_tf.capture._session_run:SessionCapture.take": RUNS,
    "drynpu_tf.capture._session_run:SessionCapture.read": RUNS,
    "drynpu.recorder._recorder:HostSampler.start": METRICS,
    "drynpu.recorder._recorder:HostSampler.stop": METRICS,
    "drynpu.recorder._recorder:Recorder.write": "no profile was written",
    "drynpu_tf.recording._engine_recording:join": "no profile was written",
    "drynpu.recorder._recorder:write_document": "results are missing beside the records",
    "drynpu.recorder._recorder:deliver_toolkit": "results are missing beside the records",
}
RAN = "some of what a device ran cannot be recorded, everything else is"
OF_FUNCTIONS = {
    "drynpu_tf.capture._trace:TraceCapture.start": RAN,
    "drynpu_tf.capture._trace:TraceCapture.attend": RAN,
    "drynpu_tf.capture._eager:EagerOperators.take": RAN,
    "drynpu_tf.capture._xplane:XplaneTracer.stop": RAN,
    "drynpu_tf.capture._eager:_tensor": "some operators cannot be recorded, everything else is",
}


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, "sessions", "nothing", *OF_SESSIONS, environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(scope="module")
def alone(scripts: Any) -> Any:
    return scripts(SCRIPT, "functions", "nothing", environment={"DRYNPU_QUIET": "1"})


@pytest.mark.parametrize("step", OF_SESSIONS)
def test_a_step_that_raises_costs_sessions_nothing_else(run: Any, step: str) -> None:
    number = list(OF_SESSIONS).index(step) + 1
    losses = run.printed("losses")
    assert losses[number] == losses[0]
    begin = run.said.index(f"begin {step}") + 1
    (line,) = [text for text in run.said[begin : begin + 2] if not text.startswith("begin ")]
    assert line.startswith(f"{OF_SESSIONS[step]}: ZeroDivisionError('for this test')")
    if OF_SESSIONS[step] not in (RUNS, "no profile was written"):
        # The records are there, whatever became of the files that are made of them.
        records = [file.name for file in run.prof("0").path.glob("device_0/data/*") if "sample" not in file.name]
        assert records != []
        assert {file.name for file in run.prof(str(number)).path.glob("device_0/data/*")}.issuperset(records)


@pytest.mark.parametrize("step", OF_FUNCTIONS)
def test_a_step_that_raises_costs_functions_nothing_else(scripts: Any, alone: Any, step: str) -> None:
    run = scripts(SCRIPT, "functions", step, environment={"DRYNPU_QUIET": "1"})
    assert run.printed("losses") == alone.printed("losses")
    lines = [text for text in run.said if not text.startswith("begin ")]
    assert lines == [f"{OF_FUNCTIONS[step]}: ZeroDivisionError('for this test')"]
