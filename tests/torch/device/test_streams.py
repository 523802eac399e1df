"""Streams, events and devices, and what a recorder is told of them."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from drynpu_torch.device import DeviceState, Event, Stream


def test_the_default_stream_is_current_at_first() -> None:
    assert torch.npu.current_stream() == torch.npu.default_stream()
    assert torch.npu.current_stream().stream_id == 0
    assert torch.npu.current_stream(3).device == torch.device("npu:3")
    assert isinstance(torch.npu.current_stream(), torch.Stream)


def test_streams_are_distinct_and_live_where_they_are_made() -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream(device="npu:2", priority=-1)
    assert first != second
    assert first.stream_id > 0
    assert first.device == torch.device("npu:0")
    assert second.device == torch.device("npu:2")
    assert second.priority == -1
    assert len({first, second, Stream(0, stream_id=first.stream_id)}) == 2
    assert repr(second) == f"<torch_npu.npu.Stream device=npu:2 npu_stream={second.npu_stream:#x}>"


def test_stream_contexts_nest_and_tell_the_recorder(recorded: object) -> None:
    outer, inner = torch.npu.Stream(), torch.npu.Stream()
    with torch.npu.stream(outer):
        with inner:
            assert torch.npu.current_stream() == inner
        assert torch.npu.current_stream() == outer
    with torch.npu.stream(None):
        assert torch.npu.current_stream().stream_id == 0
    ids = (outer.stream_id, inner.stream_id)
    assert recorded.calls == [("stream", s) for s in (ids[0], ids[1], ids[0], 0)]


def test_a_stream_of_another_device_brings_its_device() -> None:
    stream = torch.npu.Stream("npu:3")
    with torch.npu.stream(stream):
        assert torch.npu.current_device() == 3
        assert torch.npu.current_stream() == stream
    assert torch.npu.current_device() == 0
    assert torch.npu.current_stream(3).stream_id == torch.npu.current_stream().stream_id == 0
    torch.npu.set_stream(stream)
    assert (torch.npu.current_device(), torch.npu.current_stream()) == (3, stream)


def test_threads_have_their_own_device_and_stream() -> None:
    torch.npu.set_device(4)
    torch.npu.set_stream(torch.npu.Stream())
    seen: list[tuple[int, int]] = []
    thread = threading.Thread(
        target=lambda: seen.append((torch.npu.current_device(), torch.npu.current_stream(4).stream_id))
    )
    thread.start()
    thread.join()
    assert seen == [(0, 0)]
    assert torch.npu.current_stream().stream_id > 0


def test_waiting_is_told(npu: DeviceState, recorded: object) -> None:
    stream = torch.npu.Stream()
    if npu.library is not None:  # it keeps what PyTorch calls by itself
        npu.library.note_calls(wanted=True)
    torch.npu.synchronize()
    torch.npu.synchronize("npu:1")
    torch.accelerator.synchronize()
    stream.synchronize()
    kept = 0 if npu.library is None else len(npu.library.take_calls())
    assert recorded.calls == [("synchronize", s) for s in (*[None] * (3 - kept), stream.stream_id)]
    assert kept == (npu.library is not None)
    assert stream.query()


def test_events_are_told_with_their_stream(recorded: object) -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    event = torch.npu.Event()
    event.record()
    with second:
        event.record()
        event.wait(first)
        event.wait()
    assert event.query()
    event.synchronize()
    number, ids = event.npu_event, (first.stream_id, second.stream_id)
    events = [call for call in recorded.calls if call[0] != "stream"]
    assert events == [
        ("record", number, 0),
        ("record", number, ids[1]),
        ("wait", number, ids[0]),
        ("wait", number, ids[1]),
        ("query", number, ids[1]),
        ("synchronize", number, ids[1]),
    ]


def test_wait_stream_is_an_event_between_streams(recorded: object) -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    first.wait_stream(second)
    (record, wait) = recorded.calls
    assert record[0::2] == ("record", second.stream_id)
    assert wait == ("wait", record[1], first.stream_id)
    event = second.record_event()
    first.wait_event(event)
    assert recorded.calls[2:] == [
        ("record", event.npu_event, second.stream_id),
        ("wait", event.npu_event, first.stream_id),
    ]


def test_nothing_is_told_when_nothing_records(npu: DeviceState) -> None:
    assert npu.recorder is None
    torch.npu.synchronize()
    torch.npu.Event().record()


def test_elapsed_time_counts_a_long_pause_of_the_host() -> None:
    """The clock ``modelled`` of the native device leaves out single pauses below 50 ms; the sink measures."""
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="recorded"):
        start.elapsed_time(end)
    before = time.perf_counter()
    start.record()
    time.sleep(0.12)
    end.record()
    assert 119.0 <= start.elapsed_time(end) <= (time.perf_counter() - before) * 1e3
    assert end.elapsed_time(start) < 0
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        start.elapsed_time(torch.npu.Event())
    assert isinstance(start, torch.Event)
    assert isinstance(start, Event)


def test_record_stream_takes_our_streams() -> None:
    tensor = torch.ones(1).npu()
    assert tensor.record_stream(torch.npu.Stream()) is None


def test_accelerator_functions_answer() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 8
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    torch.accelerator.set_device_index(2)
    assert torch.accelerator.current_device_index() == torch.npu.current_device() == 2
    with torch.accelerator.device_index(5):
        assert torch.npu.current_device() == 5
    assert torch.npu.current_device() == 2
    stream = torch.npu.Stream()
    torch.accelerator.set_stream(stream)
    assert torch.accelerator.current_stream() == torch.npu.current_stream() == stream


def test_the_time_of_a_record() -> None:
    first, second = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    first.record()
    time.sleep(0.3)  # longer than a busy machine delays a call, so it is the script's
    second.record()
    assert 300_000 <= second.recorded_time() - first.recorded_time() < 2_000_000, "in us"
    with pytest.raises(RuntimeError, match="enable_timing=True and recorded"):
        torch.npu.Event().recorded_time()
