"""How functions take arguments: by position, by the binding's formats, with its texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu_acl.binding import Binder, parse


@given(st.integers(-(2**70), 2**70))
def test_handles_and_ids_wrap_and_ints_are_checked(number):
    assert parse("f", "k", (number,)) == (number % 2**64,)
    assert parse("f", "I", (number,)) == (number % 2**32,)
    for letter, low, high in [("i", -(2**31), 2**31 - 1), ("b", 0, 255)]:
        if low <= number <= high:
            assert parse("f", letter, (number,)) == (number,)
        else:
            with pytest.raises(TypeError, match="^refused$"):
                parse("refused", letter, (number,))


@pytest.mark.parametrize(
    ("letters", "arguments"),
    [
        ("k", ()),
        ("k", (1, 2)),
        ("k", ("1",)),
        ("k", (1.0,)),
        ("k", (None,)),
        ("k", (np.int64(1),)),
        ("K", (np.uint64(1),)),
        ("s", (b"x",)),
        ("s", ("a\0b",)),
        ("s", ("\udc80",)),
        ("i|i", (1, 2, 3)),
        ("is", ("x", 1)),
    ],
)
def test_wrong_arguments_raise_the_bindings_text(letters, arguments):
    with pytest.raises(TypeError, match=r"^acl\.rt\.f args parse failed!$"):
        parse("acl.rt.f args parse failed!", letters, arguments)


def test_what_ignores_its_arguments_takes_any():
    assert parse("f", "", (1, "x", None)) == ()
    assert parse("f", "i|s", (1,)) == (1,)
    assert parse("f", "Ii", (np.int64(7), np.int64(8))) == (7, 8)
    assert parse("f", "kI", (True, True)) == (1, 1)


def test_calls_are_told_by_their_c_name_also_when_they_raise():
    told = []

    class Listener:
        def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[object, ...], waited: int) -> None:
            told.append(name)

    listener = Listener()
    bind = Binder("acl.rt", "aclrt", lambda: listener)
    assert bind("create_stream", "", lambda: (1, 0))() == (1, 0)
    with pytest.raises(ZeroDivisionError):
        bind("set_context", "k", lambda value: 1 // value, api="aclrtSetCurrentContext")(0)
    bind("bytes_to_ptr", "O", id, api="")(b"")
    assert told == ["aclrtCreateStream", "aclrtSetCurrentContext"]


def test_keywords_are_refused_and_a_library_that_is_not_ready_answers_with_its_code():
    bind = Binder("acl.rt", "aclrt", lambda: None, lambda: 100001)
    function = bind("free", "k", lambda pointer: 0, zeros=0)
    assert function(1) == 100001
    assert bind("malloc", "k", lambda size: (7, 0), zeros=1)(1) == (0, 100001)
    assert bind("other", "k", lambda pointer: 7)(1) == 7
    with pytest.raises(TypeError, match=r"acl\.rt\.free\(\) takes no keyword arguments"):
        function(pointer=1)
