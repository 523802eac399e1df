"""Devices, contexts, streams and events: right orders, wrong orders, freed handles."""

from __future__ import annotations

import threading
import time

import pytest

from drynpu_acl.runtime import Process


@pytest.fixture
def process(monkeypatch):
    monkeypatch.setenv("DRYNPU_DEVICES", "2")
    process = Process()
    assert process.init() == 0
    yield process
    process.finalize()


def test_before_a_device_is_set_there_is_no_context(process):
    devices = process.devices
    assert devices.get_device() == (0, 107002)
    assert devices.get_context() == (0, 107002)
    assert devices.create_stream() == (0, 107002)
    assert devices.create_event() == (0, 107002)
    assert process.malloc(8, 0) == (0, 107002)
    assert process.malloc_host(8) == (0, 107002)
    assert process.memcpy(1, 1, 1, 1, 0) == 107002
    assert process.get_mem_info(1) == (0, 0, 107002)
    assert process.waiting.synchronize_stream(0) == 107002
    assert process.waiting.synchronize_device() == 107002
    assert process.models.load_from_file("x.om") == (0, 107002)


@pytest.mark.parametrize("device", [-1, 2, 99])
def test_devices_that_are_not_there(process, device):
    assert process.devices.set_device(device) == 107001
    assert process.reset_device(device) == 107001
    assert process.devices.create_context(device) == (0, 107001)


def test_contexts_are_those_of_the_thread(process):
    devices = process.devices
    devices.set_device(1)
    first, code = devices.get_context()
    assert code == 0
    second, code = devices.create_context(0)
    assert code == 0
    assert devices.get_context() == (second, 0)
    assert devices.get_device() == (0, 0)
    seen = []
    thread = threading.Thread(target=lambda: seen.extend([devices.get_context(), devices.set_context(first)]))
    thread.start()
    thread.join()
    assert seen == [(0, 107002), 0]
    assert devices.get_context() == (second, 0)
    assert devices.destroy_context(second) == 0
    assert devices.destroy_context(second) == 107017
    assert devices.get_context() == (0, 107002)
    assert devices.set_context(second) == 107017
    assert devices.set_context(0) == 100000
    assert devices.destroy_context(first) == 107017, "the context of a device goes with its reset"


def test_streams_belong_to_their_context(process):
    devices, waiting = process.devices, process.waiting
    devices.set_device(0)
    stream, _ = devices.create_stream()
    assert waiting.synchronize_stream(stream) == 0
    assert waiting.synchronize_stream(0) == 0
    assert waiting.synchronize_stream(12345) == 107017
    other, _ = devices.create_context(1)
    assert waiting.synchronize_stream(stream) == 107003
    devices.set_device(0)
    assert devices.destroy_stream(stream) == 0
    assert devices.destroy_stream(stream) == 107017
    assert waiting.synchronize_stream(stream) == 107017
    assert devices.destroy_stream(0) == 100000
    assert waiting.synchronize_stream(other) == 107017, "a context is no stream"
    assert waiting.synchronize_stream(0, -2) == 100000


def test_a_reset_takes_streams_and_memory_along(process):
    devices = process.devices
    devices.set_device(0)
    stream, _ = devices.create_stream()
    pointer, _ = process.malloc(64, 0)
    assert process.reset_device(0) == 0
    assert devices.get_context() == (0, 107002)
    devices.set_device(0)
    assert process.waiting.synchronize_stream(stream) == 107017
    assert process.free(pointer) == 107000


def test_events_tell_the_time_between_them(process):
    devices = process.devices
    devices.set_device(0)
    (first, _), (second, _) = devices.create_event(), devices.create_event()
    assert devices.event_elapsed_time(first, second) == (0.0, 107006)
    begin_s = time.perf_counter()
    assert devices.record_event(first, 0) == 0
    time.sleep(0.01)
    assert devices.record_event(second, 0) == 0
    around_ms = (time.perf_counter() - begin_s) * 1e3
    elapsed_ms, code = devices.event_elapsed_time(first, second)
    assert code == 0
    assert 10 <= elapsed_ms <= around_ms
    assert devices.event_elapsed_time(second, first) == (0.0, 107007)
    assert devices.stream_wait_event(0, first) == 0
    assert devices.synchronize_event(first) == 0
    assert devices.reset_event(first, 0) == 0
    assert devices.event_elapsed_time(first, second) == (0.0, 107006)
    assert devices.destroy_event(first) == 0
    assert devices.destroy_event(first) == 107017
    assert devices.record_event(first, 0) == 107017
    assert devices.synchronize_event(first) == 107017
    assert devices.event_elapsed_time(first, second) == (0.0, 107017)
    assert devices.record_event(second, 99) == 107017
    assert devices.record_event(0, 0) == 100000


def test_after_the_end_every_handle_is_unknown(process):
    devices = process.devices
    devices.set_device(0)
    stream, _ = devices.create_stream()
    event, _ = devices.create_event()
    context, _ = devices.get_context()
    pointer, _ = process.malloc(64, 0)
    assert process.finalize() == 0
    assert process.finalize() == 100037
    assert process.ready() == 100001
    assert process.init() == 0
    assert devices.set_context(context) == 107017
    devices.set_device(0)
    assert process.waiting.synchronize_stream(stream) == 107017
    assert devices.synchronize_event(event) == 107017
    assert process.free(pointer) == 107000


def test_a_second_beginning_is_counted(monkeypatch):
    process = Process()
    assert process.finalize() == 100001
    assert process.init() == 0
    assert process.init() == 100002
    assert process.finalize_reference() == (1, 0)
    assert process.finalize_reference() == (0, 0)
    assert process.finalize_reference() == (0, 100037)


def test_settings_that_cannot_be_are_told(monkeypatch, capsys):
    monkeypatch.setenv("DRYNPU_CHIP", "Ascend910Z")
    assert Process().init() == 100000
    assert "Ascend910Z" in capsys.readouterr().err
