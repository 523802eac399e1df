"""The table of transitions, spelled out from the reference (torch_npu_profiler.md 2)."""

from __future__ import annotations

import itertools

import pytest

from drynpu.options import Action
from drynpu.recorder import ScheduleWarning, TransitionStep, transition

SAVE = "stop finalize ready"
TABLE = {
    ("none", "none"): "",
    ("none", "warmup"): "init warmup",
    ("none", "record"): "init start",
    ("none", "record_and_save"): "init start",
    ("none", None): "",
    ("warmup", "none"): "start stop finalize",
    ("warmup", "warmup"): "",
    ("warmup", "record"): "start",
    ("warmup", "record_and_save"): "start",
    ("warmup", None): "finalize delete",
    ("record", "none"): "stop finalize",
    ("record", "warmup"): "stop finalize",
    ("record", "record"): "",
    ("record", "record_and_save"): "",
    ("record", None): SAVE,
    ("record_and_save", "none"): SAVE,
    ("record_and_save", "warmup"): f"{SAVE} init warmup",
    ("record_and_save", "record"): f"{SAVE} init start",
    ("record_and_save", "record_and_save"): f"{SAVE} init start",
    ("record_and_save", None): SAVE,
}
WARNED = {
    ("warmup", "none"): ScheduleWarning.WARMUP_THEN_NONE,
    ("record", "none"): ScheduleWarning.RECORD_THEN_NONE,
    ("record", "warmup"): ScheduleWarning.RECORD_THEN_WARMUP,
    ("warmup", None): ScheduleWarning.STOPPED_IN_WARMUP,
    ("record", None): ScheduleWarning.STOPPED_IN_RECORD,
    ("record_and_save", None): ScheduleWarning.STOPPED_IN_SAVE,
}


@pytest.mark.parametrize(("previous", "following"), list(itertools.product(Action, [*Action, None])), ids=str)
def test_every_pair(previous: Action, following: Action | None) -> None:
    key = (previous.name.lower(), following.name.lower() if following else None)
    found = transition(previous, following)
    assert found.steps == tuple(TransitionStep(word) for word in TABLE[key].split())
    assert found.warning == WARNED.get(key)


def test_a_regular_schedule_makes_a_directory_once_and_hands_it_over_once() -> None:
    for actions in itertools.product(Action, repeat=4):
        walked = [transition(*pair) for pair in itertools.pairwise((Action.NONE, *actions))]
        if any(change.warning for change in walked):
            continue
        live = started = False
        for step in (step for change in walked for step in change.steps):
            if step is TransitionStep.INIT:
                assert not live
                live = True
            elif step is TransitionStep.START:
                assert live
                assert not started
                started = True
            elif step is TransitionStep.STOP:
                assert started
                started = False
            elif step is TransitionStep.READY:
                assert live
                assert not started
                live = False
