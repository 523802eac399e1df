"""A script that is slow because the CPU computes float16."""

from __future__ import annotations

import sys
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from drynpu_script_check import plugin
from drynpu_script_check._slow_types import TypeWatch, half_type_in, keeps_locals, slow_text


class Dtype:
    def __init__(self, *, floating: bool = True) -> None:
        self.is_floating_point = floating


class Tensor:
    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype


FLOAT16, BFLOAT16, FLOAT32, INT64 = Dtype(), Dtype(), Dtype(), Dtype(floating=False)
TORCH: Any = SimpleNamespace(Tensor=Tensor, float16=FLOAT16, bfloat16=BFLOAT16)


def frame_with(**tensors: Dtype) -> FrameType:
    """Return the frame of a function with tensors, called by one that has a tensor in float32."""

    def called(x: object, y: object) -> FrameType:
        return sys._getframe()

    def caller(z: object) -> FrameType:
        return called(*(Tensor(dtype) for dtype in (tensors["x"], tensors["y"])))

    return caller(Tensor(FLOAT32))


@pytest.mark.parametrize(("x", "y", "seen"), [
    (FLOAT16, FLOAT32, "float16"),
    (INT64, BFLOAT16, "bfloat16"),
    (FLOAT32, FLOAT32, ""),
    (INT64, INT64, ""),
])  # fmt: skip
def test_the_innermost_frame_with_tensors_decides(x: Dtype, y: Dtype, seen: str) -> None:
    assert half_type_in(frame_with(x=x, y=y), TORCH) == seen


def test_a_backward_pass_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "__name__", "torch.autograd.graph")
    assert half_type_in(frame_with(x=FLOAT16, y=FLOAT16), TORCH) is None


def looked(seen: list[str | None], busy: float) -> bool:
    watch = TypeWatch()
    return [watch.look(each, busy * 0.5 * n, 0.5 * n) for n, each in enumerate(seen)][-1]


@pytest.mark.parametrize(("seen", "busy", "slow"), [
    (["float16"] * 40, 2.0, True),
    (["float16"] * 39, 2.0, False),
    (["float16"] * 40, 0.01, False),
    ([""] * 25 + ["float16"] * 15, 1.0, False),
    ([None] * 34 + ["bfloat16"] * 6, 1.0, True),
    ([None] * 37 + ["bfloat16"] * 3, 1.0, False),
])  # fmt: skip
def test_it_is_slow_where_a_busy_process_has_had_such_tensors_for_long(
    seen: list[str | None], busy: float, slow: bool
) -> None:
    assert looked(seen, busy) is slow


def test_the_line_has_the_time_so_far_and_the_remedy() -> None:
    text = slow_text("bfloat16", 34.4)
    assert text.startswith("34 s so far, in which this CPU computes bfloat16")
    assert "drynpu run --no-compute" in text


def test_objects_of_other_classes_are_not_asked() -> None:
    class Asked(Tensor):
        @property
        def dtype(self) -> Dtype:
            raise AssertionError("the script's code ran")

        @dtype.setter
        def dtype(self, value: Dtype) -> None: ...

    def called(x: object) -> FrameType:
        return sys._getframe()

    assert half_type_in(called(Asked(FLOAT16)), TORCH) is None


@pytest.mark.parametrize("keeps", [True, False])
def test_it_looks_only_where_that_keeps_no_tensor_alive(monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    started: list[int] = []
    monkeypatch.setattr("drynpu_script_check._slow_types.keeps_locals", lambda: keeps)
    monkeypatch.setattr("drynpu_script_check._slow_types.watch_types", started.append)
    context: Any = SimpleNamespace(environment={})
    plugin.drynpu_activate(context)
    assert len(started) == (not keeps)


def test_locals_are_kept_before_python_3_13() -> None:
    assert keeps_locals() is (sys.version_info < (3, 13))
