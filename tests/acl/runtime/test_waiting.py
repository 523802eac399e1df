"""Callbacks that streams hold, and who waits for them."""

from __future__ import annotations

import threading

import pytest


@pytest.fixture
def waiting(library):
    return library.process.waiting


def test_callbacks_run_in_the_subscribed_thread_before_the_wait_ends(library, waiting):
    stream, _ = library.process.devices.create_stream()
    context, _ = library.process.devices.get_context()
    seen, stop, codes = [], threading.Event(), set()

    def report() -> None:
        library.process.devices.set_context(context)
        while not stop.is_set():
            codes.add(waiting.process(10))

    thread = threading.Thread(target=report)
    thread.start()
    assert waiting.launch(seen.append, 1, 1, stream) == 107015
    assert waiting.subscribe(thread.ident, stream) == 0
    assert waiting.subscribe(thread.ident, stream) == 107011
    for value in range(20):
        assert waiting.launch(lambda v: seen.append((v, threading.get_ident())), value, 1, stream) == 0
    assert waiting.synchronize_stream(stream) == 0
    assert seen == [(value, thread.ident) for value in range(20)]
    stop.set()
    thread.join()
    assert waiting.unsubscribe(1, stream) == 107012
    assert waiting.unsubscribe(thread.ident, stream) == 0
    assert waiting.unsubscribe(thread.ident, stream) == 107011
    assert codes <= {0, 107012, 507012}


def test_nobody_waits_for_a_callback_that_does_not_block(library, waiting):
    waiting.subscribe(threading.get_ident(), 0)
    assert waiting.launch(print, 1, 0, 0) == 0
    assert waiting.synchronize_device() == 0


def test_a_wait_can_be_limited(library, waiting):
    waiting.subscribe(threading.get_ident(), 0)
    assert waiting.launch(lambda _: None, None, 1, 0) == 0
    assert waiting.synchronize_stream(0, 20) == 507046
    assert waiting.process(0) == 0
    assert waiting.process(0) == 507012
    assert waiting.synchronize_stream(0, 20) == 0


def test_what_a_callback_raises_is_raised_and_the_stream_goes_on(library, waiting):
    waiting.subscribe(threading.get_ident(), 0)
    waiting.launch(lambda _: 1 / 0, None, 1, 0)
    with pytest.raises(ZeroDivisionError):
        waiting.process(100)
    assert waiting.synchronize_stream(0) == 0


def test_wrong_arguments(library, waiting):
    assert waiting.process(10) == 107012
    assert waiting.process(-2) == 100000
    assert waiting.subscribe(1, 99) == 107017
    with pytest.raises(TypeError, match="parameter must be callable"):
        waiting.launch("no function", None, 1, 0)
    assert waiting.launch(print, None, 2, 0) == 100000
    assert waiting.launch(print, None, 1, 99) == 107017


def test_the_end_of_the_library_lets_go_who_waits(library, waiting):
    context, _ = library.process.devices.get_context()
    waiting.subscribe(1, 0)
    waiting.launch(print, None, 1, 0)
    codes = []

    def wait() -> None:
        library.process.devices.set_context(context)
        started.set()
        codes.append(waiting.synchronize_stream(0))

    started = threading.Event()
    thread = threading.Thread(target=wait)
    thread.start()
    started.wait()
    library.process.finalize()
    thread.join(10)
    assert not thread.is_alive()
    assert codes[0] in {0, 107002, 107017}
