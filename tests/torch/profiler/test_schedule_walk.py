"""``profile.step()`` over any schedule does what the tables of the vendor say (torch_npu_profiler.md 1.4, 2)."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import contextlib
import io

from hypothesis import given, settings
from hypothesis import strategies as st

import torch
import torch_npu
from torch_npu.profiler import profile, schedule


class Interface:
    \"\"\"Takes note of the duties instead of carrying them out.\"\"\"

    enabled, recording, raw_only = True, False, False

    def __init__(self):
        self.done = []

    def step_trace(self):
        raise AssertionError("a step while nothing is recorded")

    def __getattr__(self, name):
        return lambda: self.done.append(name.removesuffix("_trace"))


def tape(p, steps):
    \"\"\"The actions of the steps, laid out instead of computed.\"\"\"
    cycle = ["NONE"] * p["wait"] + ["WARMUP"] * p["warmup"] + ["RECORD"] * (p["active"] - 1) + ["SAVE"]
    actions = ["NONE"] * p["skip_first"]
    for number in range(p["repeat"] or steps + 1):
        actions += cycle[p["wait"]:] if number == 0 and p["skip_first_wait"] else cycle
    return (actions + ["NONE"] * steps)[:steps]


def duties(actions):
    \"\"\"What a regular schedule makes of them: a directory per cycle, handed over after its last step.\"\"\"
    before, done = "NONE", []
    for action in actions:
        if before == "SAVE":
            done += ["stop", "finalize", "ready"]
        if before in ("NONE", "SAVE") and action != "NONE":
            done.append("init")
            done.append("warmup" if action == "WARMUP" else "start")
        if before == "WARMUP" and action != "WARMUP":
            done.append("start")
        before = action
    return done, before


LEFT = {
    "NONE": [],
    "WARMUP": ["finalize", "delete"],
    "RECORD": ["stop", "finalize", "ready"],
    "SAVE": ["stop", "finalize", "ready"],
}
small = st.integers(0, 5)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    st.fixed_dictionaries(
        {
            "wait": small,
            "active": st.integers(1, 5),
            "warmup": small,
            "repeat": st.integers(0, 3),
            "skip_first": small,
            "skip_first_wait": st.sampled_from([0, 1, 3, -1]),
        }
    ),
    st.integers(1, 50),
)
def walk(p, steps):
    with contextlib.redirect_stdout(io.StringIO()):
        prof = profile(schedule=schedule(**p))
        prof.on_trace_ready = lambda prof: prof.prof_if.done.append("ready")
        prof.prof_if = Interface()
        prof.start()
        for _ in range(steps - 1):
            prof.step()
        expected, last = duties(tape(p, steps))
        assert prof.prof_if.done == expected, (p, steps)
        prof.stop()
        assert prof.prof_if.done == expected + LEFT[last], (p, steps)
        assert prof.step_num == steps - 1


walk()
print("walked")
"""


def test_any_schedule(scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})
    assert "walked" in run.stdout
