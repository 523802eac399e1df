"""Launches become the communication of a rank; what is not known of them is counted."""

from __future__ import annotations

import pytest

from drynpu.device.collectives import WORLD_GROUP
from drynpu.kernels import Call, Operators, TensorDesc
from drynpu_mindspore.recording._collectives import find_collectives
from drynpu_mindspore.recording._ranks import JobRanks
from drynpu_mindspore.rules import signature

X = TensorDesc((2, 3), "FLOAT")
GROUPS = {WORLD_GROUP: (0, 1, 2), "pair": (0, 2)}


def launched(*calls: tuple[str, tuple[TensorDesc, ...], dict[str, object]]) -> Operators:
    return Operators.from_calls(
        [
            Call(signature(name, x, x, given), start_ns=100 * place, end_ns=100 * place + 50, thread=1)
            for place, (name, x, given) in enumerate(calls)
        ]
    )


def test_groups_and_roots_are_those_of_the_attributes() -> None:
    operators = launched(
        ("AllReduce", (X,), {"group": "mccl_world_group"}),
        ("MatMul", (X, X), {}),
        ("AllReduce", (X,), {"group": "pair"}),
        ("Broadcast", (X,), {"group": WORLD_GROUP, "root_rank": 2}),
    )
    found = find_collectives(operators, 2, GROUPS)
    seen = [(each.kind, each.group, each.ranks, each.peer, each.size_bytes) for each in found.collectives]
    assert seen == [
        ("allReduce", WORLD_GROUP, (0, 1, 2), None, 24),
        ("allReduce", "pair", (0, 2), None, 24),
        ("broadcast", WORLD_GROUP, (0, 1, 2), 2, 24),
    ]
    assert found.notes == ()


def test_what_is_not_known_is_counted_and_said() -> None:
    operators = launched(("AllReduce", (), {}), ("AllReduce", (), {}), ("AllGather", (X,), {"group": "never created"}))
    found = find_collectives(operators, 0, GROUPS)
    assert found.collectives == ()
    assert found.notes == (
        "2 AllReduce left out of the communication: shape or group not known",
        "1 AllGather left out of the communication: shape or group not known",
    )


def test_what_was_noted_says_what_a_launch_moves_and_lasts_as_long_as_it() -> None:
    operators = launched(("Send", (X,), {}), ("AllReduce", (X,), {}), ("Send", (X,), {}))
    data = {
        "kind": "send",
        "group": "pair",
        "ranks": (0, 2),
        "peer": 2,
        "size_bytes": 8,
        "dtype": "FLOAT16",
        "count": 4,
        "messages": ((0, 2, 7),),
        "launch": True,
    }
    inside = Call(signature("Send", [], [], data), start_ns=210, end_ns=240, thread=5)
    alone = Call(signature("Send", [], [], data | {"launch": False}), start_ns=260, end_ns=270, thread=5)
    found = find_collectives(operators, 0, GROUPS, [inside, alone])
    assert [(each.kind, each.start_ns, each.end_ns, each.thread, each.peer) for each in found.collectives] == [
        ("allReduce", 100, 150, 1, None),
        ("send", 200, 250, 1, 2),
        ("send", 260, 270, 5, 2),
    ]
    assert [(each.group, each.messages) for each in found.calls] == [
        (WORLD_GROUP, ()),
        ("pair", ((0, 2, 7),)),
        ("pair", ((0, 2, 7),)),
    ]
    assert found.collectives[1].size_bytes == 8
    assert found.notes == ()


def test_one_rank_has_no_communication() -> None:
    operators = launched(("AllReduce", (X,), {}))
    assert find_collectives(operators, 0, {WORLD_GROUP: (0,)}).collectives == ()


def test_groups_are_those_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK_SIZE", "4")
    ranks = JobRanks()
    ranks.name_group("odd", [1, 3])
    assert ranks.groups == {WORLD_GROUP: (0, 1, 2, 3), "odd": (1, 3)}


def test_ranks_that_cannot_be_reached_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drynpu_mindspore.recording._ranks._CONNECT_S", 0.1)
    ranks = JobRanks()
    ranks.join(1, 2, "127.0.0.1", 1)
    (collective,) = find_collectives(launched(("AllReduce", (X,), {})), 1, {WORLD_GROUP: (0, 1)}).collectives
    ranks.begin_recording()
    with ranks.end_recording([collective]) as others:
        assert others(0, 7) == 7
    (note,) = others.notes
    assert note.startswith("collectives wait for no rank: rank 1 of 2: rank 0 is not there at port 2 of 127.0.0.1")
