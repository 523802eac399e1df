"""What is run on the main thread from another one, and what comes of errors there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from drynpu_torch.profiler._main_thread import on_main_thread

LONG_S = 30.0


class Asking(threading.Thread):
    """Asks for something to be done on the main thread and keeps what came of it."""

    def __init__(self, work: Callable[[], Any], timeout_s: float | None = None, after_s: float = 0) -> None:
        super().__init__(daemon=True)
        self.work, self.timeout_s, self.after_s = work, timeout_s, after_s
        self.answer: Any = None
        self.start()

    def run(self) -> None:
        time.sleep(self.after_s)
        try:
            self.answer = on_main_thread(self.work, self.timeout_s)
        except BaseException as error:  # noqa: BLE001 - kept to be looked at
            self.answer = error


def train(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not until():
        assert time.monotonic() < deadline


def test_it_is_the_main_thread_and_its_answer_comes_back() -> None:
    asking = Asking(threading.get_ident)
    train(lambda: not asking.is_alive())
    assert asking.answer == threading.main_thread().ident
    assert on_main_thread(threading.get_ident) == threading.get_ident()


def test_errors_are_for_who_asked() -> None:
    asking = Asking(lambda: int("x"))
    train(lambda: not asking.is_alive())
    assert isinstance(asking.answer, ValueError)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7)])
def test_interruptions_are_for_the_application(error: BaseException) -> None:
    def work() -> None:
        raise error

    asking = Asking(work, after_s=0.1)
    with pytest.raises(type(error)) as caught:
        train(lambda: False)
    assert caught.value.args == error.args
    assert getattr(caught.value, "code", None) == getattr(error, "code", None)
    asking.join(LONG_S)
    assert isinstance(asking.answer, InterruptedError)


def test_a_main_thread_that_does_not_come_by_is_not_waited_for() -> None:
    done: list[int] = []
    asking = Asking(lambda: done.append(1), 0.05, after_s=0.2)
    time.sleep(0.6)  # holds the main thread outside Python
    train(lambda: not asking.is_alive())
    assert isinstance(asking.answer, TimeoutError)
    assert not done
