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


def pairs():
    # What every pair of actions does, irregular ones included.
    say = {name: io.StringIO() for name in TABLE}
    for pair, (expected, warning) in TABLE.items():
        with contextlib.redirect_stdout(say[pair]):
            names = [{"R&S": "RECORD_AND_SAVE"}.get(name, name) for name in pair.split("-")]
            actions = [getattr(torch_npu.profiler.ProfilerAction, name) for name in names if name != "exit"]
            prof = profile(schedule=lambda step: actions[min(step, len(actions) - 1)])
            prof.on_trace_ready = lambda prof: prof.prof_if.done.append("ready")
            prof.prof_if = Interface()
            prof.start()
            done, told = len(prof.prof_if.done), say[pair].tell()
            prof.stop() if names[1] == "exit" else prof.step()
            assert prof.prof_if.done[done:] == expected.split(), (pair, prof.prof_if.done[done:])
            said = [line.partition("profiler.py: ")[2] for line in say[pair].getvalue()[told:].splitlines()]
            assert said == ([warning] if warning else []), (pair, said)
            prof._started_by = 0


TABLE = {
    "NONE-NONE": ("", ""),
    "NONE-WARMUP": ("init warmup", ""),
    "NONE-RECORD": ("init start", ""),
    "NONE-R&S": ("init start", ""),
    "WARMUP-NONE": ("start stop finalize", "Incorrect schedule: WARMUP followed by NONE"),
    "WARMUP-WARMUP": ("", ""),
    "WARMUP-RECORD": ("start", ""),
    "WARMUP-R&S": ("start", ""),
    "RECORD-NONE": ("stop finalize", "Incorrect schedule: RECORD followed by NONE"),
    "RECORD-WARMUP": ("stop finalize", "Incorrect schedule: RECORD followed by WARMUP"),
    "RECORD-RECORD": ("", ""),
    "RECORD-R&S": ("", ""),
    "R&S-NONE": ("stop finalize ready", ""),
    "R&S-WARMUP": ("stop finalize ready init warmup", ""),
    "R&S-RECORD": ("stop finalize ready init start", ""),
    "R&S-R&S": ("stop finalize ready init start", ""),
    "NONE-exit": ("", ""),
    "WARMUP-exit": (
        "finalize delete",
        "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data.",
    ),
    "RECORD-exit": (
        "stop finalize ready",
        "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data.",
    ),
    "R&S-exit": (
        "stop finalize ready",
        "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed.",
    ),
}
walk()
pairs()
print("walked")
"""


def test_any_schedule(scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})
    assert "walked" in run.stdout
