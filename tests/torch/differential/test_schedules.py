"""Any schedule, walked by ``torch.profiler.profile`` and by ours: the same actions, calls of the handler, steps."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import contextlib
import io
import warnings
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import torch
import torch_npu
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import OpRangeField
from drynpu.raw import read_tlv
from torch import profiler as theirs
from torch_npu import profiler as ours

warnings.simplefilter("ignore")  # about schedules without warmup; both say it
given_once = settings(deadline=None, derandomize=True, database=None)


def parameters(most):
    small = st.integers(0, most)
    return st.fixed_dictionaries(
        {
            "wait": small,
            "warmup": small,
            "active": st.integers(1, most),
            "repeat": small,
            "skip_first": small,
            "skip_first_wait": st.sampled_from([0, 1, 2]),
        }
    )


@settings(given_once, max_examples=500)
@given(parameters(9), st.lists(st.integers(0, 10**6), min_size=1))
def actions(p, far):
    ahead = theirs.schedule(**p)
    with contextlib.redirect_stdout(io.StringIO()):
        behind = ours.schedule(**p)
    for step in (*range(60), *far):
        assert behind(step).name == ahead(step).name, (p, step)


def steps_of_theirs(prof):
    names = (event.name() for event in prof.profiler.kineto_results.events())
    return sorted(name for name in names if name.startswith("ProfilerStep#"))


def steps_of_ours(prof):
    records = read_tlv(Path(prof.prof_if.prof_path) / "FRAMEWORK" / "torch.op_range", torch_facts.OP_RANGE)
    names = (records.texts[index][OpRangeField.NAME] for index in records.text_index)
    return sorted(name for name in names if name.startswith("ProfilerStep#"))


def walk(profiler, p, steps, recorded, **options):
    actions, calls = [], []
    schedule = profiler.schedule(**p)

    def ready(prof):
        calls.append((prof.step_num, recorded(prof)))

    with profiler.profile(schedule=schedule, on_trace_ready=ready, **options) as prof:
        for _ in range(steps):
            torch.ones(2).add(1)
            prof.step()
            actions.append(prof.current_action.name)
    return actions, calls, prof.step_num


seen = {"calls": 0, "cut": 0}


@settings(given_once, max_examples=WALKS)
@given(parameters(3), st.integers(1, 14))
def walks(p, steps):
    expected = walk(theirs, p, steps, steps_of_theirs, activities=[theirs.ProfilerActivity.CPU])
    with contextlib.redirect_stdout(io.StringIO()) as said:
        config = ours._ExperimentalConfig(aic_metrics=ours.AiCMetrics.AiCoreNone)
        found = walk(ours, p, steps, steps_of_ours, experimental_config=config)
    assert found == expected, (p, steps, found, expected)
    assert "[ERROR]" not in said.getvalue(), said.getvalue()
    seen["calls"] += len(found[1])
    seen["cut"] += "while current state is" in said.getvalue()


actions()
walks()
print("seen", seen["calls"], seen["cut"])
"""
WALKS = 40


def test_any_schedule_walks_as_torch_profiler_does(scripts: Any) -> None:
    quiet = {"DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99"}
    run = scripts(SCRIPT.replace("WALKS", str(WALKS)), environment=quiet)
    _, calls, cut = run.stdout.splitlines()[-1].split()
    assert int(calls) > WALKS / 2
    assert int(cut) > WALKS / 10  # runs that end inside a cycle
