"""When a recording is saved for the case of a kill, without TensorFlow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from tests.by_hand import call_table

from drynpu.kernels import Signature
from drynpu.options import ProfilingRequest
from drynpu.recorder import Recorder
from drynpu_tf.recording._engine_recording import EngineRecording
from drynpu_tf.recording._graph_engine import GraphEngine

OPERATORS = call_table(("A",), 0, np.arange(7), np.arange(7) + 1, (Signature("A", ()),), thread=3)


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a recorder was asked to save."""
    found: list[Any] = []
    monkeypatch.setattr(Recorder, "save", lambda _, build, *__, **___: found.append(build))
    return found


def recording(folder: Path, since_ns: int = 0) -> EngineRecording:
    found = EngineRecording.unopened(ProfilingRequest(), folder)
    found._saved_ns = since_ns
    found.add(OPERATORS)
    return found


def test_a_few_operators_at_the_end_are_not_saved(tmp_path: Path, saved: list[Any]) -> None:
    recorded = recording(tmp_path)
    recorded.save(7)
    assert saved == []
    recorded.add(evolve(OPERATORS, thread=np.full(7, 4, np.int64)))
    recorded.save(7)
    assert len(saved) == 1


def test_what_is_recorded_meanwhile_is_saved_every_half_second(tmp_path: Path, saved: list[Any]) -> None:
    recorded = recording(tmp_path)
    recorded.save()
    recorded.save()
    assert len(saved) == 1


def test_what_one_user_leaves_is_saved_while_others_go_on(tmp_path: Path, saved: list[Any]) -> None:
    engine = GraphEngine()
    engine._owner, engine._recorder = os.getpid(), recording(tmp_path)
    engine._users.update({1, 2})
    engine.leave(1)
    assert len(saved) == 1
    engine._recorder = None
    engine.leave(2)
    assert len(saved) == 1
