"""Subscriptions: modes, records, readers, and readers that misbehave."""

from __future__ import annotations

import csv
import ctypes
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu_acl.prof._pipe import RecordPipe
from drynpu_acl.prof._records import RECORD, crc32c, read_records, signed

NONE = 0xFF


def address(data):
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


class Reader:
    """The reading end, emptied by a thread as the guide's sample does."""

    def __init__(self):
        self.source, self.sink = os.pipe()
        self.data = b""
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while piece := os.read(self.source, 800):
            assert len(piece) % 80 == 0
            self.data += piece

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(20)
        assert not self.thread.is_alive(), "the writing end was not closed"
        os.close(self.source)


def test_the_checksum_is_the_documented_one():
    text = np.frombuffer(b"123456789", np.uint8)[None]
    assert crc32c(text).tolist() == [0x1CF96D7C]


@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 11), min_size=1, max_size=20), st.integers(0, 10**6))
def test_records_come_back_and_any_damage_is_seen(rows, place):
    records = np.zeros(len(rows), RECORD)
    for row, values in zip(records, rows, strict=True):
        for name, value in zip(RECORD.names[1:], values, strict=True):
            row[name] = value
    data = signed(records)
    assert len(data) == 80 * len(rows)
    assert [fields[1:] for fields in struct.iter_unpack("<4I7QI4x", data)] == rows
    found = read_records(data)
    assert found is not None
    damaged = bytearray(data)
    damaged[place % len(data)] ^= 0x10
    assert read_records(bytes(damaged)) is None
    assert read_records(data[:-1]) is None


def test_modes_exclude_each_other(acl):
    config = acl.create_config([0], 0, 0, 1)
    with Reader() as reader:
        wanted = acl.create_subscribe_config(1, NONE, reader.sink)
        assert acl.model_subscribe(1, 4711) == 100000
        assert acl.model_subscribe(7, wanted) == 100011
        assert acl.model_unsubscribe(1) == 100011
        assert acl.model_subscribe(1, acl.create_subscribe_config(0, NONE, reader.sink)) == 100000
        assert acl.model_subscribe(1, acl.create_subscribe_config(1, 77, reader.sink)) == 100000
        assert acl.model_subscribe(1, wanted) == 0
        assert acl.model_subscribe(1, wanted) == 148046
        assert acl.init("out") == acl.start(config) == acl.stop(config) == acl.finalize() == 148047
        assert acl.set_config(3, "15") == 0
        assert acl.model_subscribe(2, acl.create_subscribe_config(1, 0, reader.sink)) == 100010
        assert acl.model_subscribe(2, wanted) == 0
        assert acl.model_unsubscribe(1) == 0
        acl.execute(2)
        assert acl.model_un_subscribe(2) == 0
        assert acl.destroy_subscribe_config(wanted) == 0
        assert acl.destroy_subscribe_config(wanted) == 100000
    assert len(reader.data) == 3 * 80, "one pipe for both, closed with the last"
    assert acl.init("out") == 0
    assert acl.model_subscribe(1, wanted) == 100000
    wanted = acl.create_subscribe_config(1, NONE, 0)
    assert acl.model_subscribe(1, wanted) == acl.model_unsubscribe(1) == 148047
    assert acl.create_subscribe_config(2, NONE, 0) == 0
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, 987654)) == 148047


def test_a_descriptor_that_is_not_open(acl):
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, 987654)) == 100000
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, -1)) == 100000


def test_the_reading_end_is_told(acl, capsys):
    source, sink = os.pipe()
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, source)) == 0
    assert "is not the writing end of a pipe" in capsys.readouterr().err
    acl.execute()
    assert acl.model_unsubscribe(1) == 0
    os.close(sink)


def test_devices_may_be_asked_for_different_things(acl):
    source, sink = os.pipe()
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, sink)) == 0
    assert acl.model_subscribe(2, acl.create_subscribe_config(1, 0, sink)) == 100010
    acl.profiling.runtime.device = 1
    assert acl.model_subscribe(2, acl.create_subscribe_config(1, 0, sink)) == 0
    assert acl.model_unsubscribe(1) == acl.model_unsubscribe(2) == 0
    os.close(source)


def test_a_pipe_that_a_subscription_closed_is_none_for_another(acl, tmp_path):
    source, sink = os.pipe()
    config = acl.create_subscribe_config(1, NONE, sink)
    assert acl.model_subscribe(1, config) == acl.model_unsubscribe(1) == 0
    assert acl.model_subscribe(1, config) == 100000
    other = os.open(tmp_path / "mine", os.O_WRONLY | os.O_CREAT)
    assert other == sink
    assert acl.model_subscribe(1, config) == 100000
    os.close(other)
    os.close(source)


@pytest.fixture
def records(acl):
    """The records of two runs."""
    with Reader() as reader:
        assert acl.model_subscribe(1, acl.create_subscribe_config(1, 0, reader.sink)) == 0
        acl.execute()
        acl.execute()
        assert acl.model_unsubscribe(1) == 0
    return reader.data


def test_getters(acl, records):
    assert acl.get_op_desc_size() == (80, 0)
    whole = address(records), len(records)
    assert acl.get_op_num(*whole) == (6, 0)
    assert acl.get_op_type_len(*whole, 1) == (len("Relu") + 1, 0)
    assert acl.get_op_name(*whole, 0, 2) == ("", 100000), "no room: the name stays"
    assert acl.get_op_name(*whole, 0, 4097) == ("", 100000)
    assert acl.get_op_name(*whole, 0, 3) == ("fc1", 0)
    assert acl.get_op_name(*whole, 0, 3) == ("", 100000), "given once"
    assert acl.get_op_name_len(*whole, 0) == (0, 100000)
    assert acl.get_op_type_v2(*whole, 0) == ("MatMulV2", 0)
    assert acl.get_op_type_v2(*whole, 0) == (None, 100000)
    assert [acl.get_op_name(*whole, index, 275)[0] for index in range(1, 6)] == ["relu", "fc2", "fc1", "relu", "fc2"]
    start, end = acl.get_op_start(*whole, 4), acl.get_op_end(*whole, 4)
    assert 0 < acl.get_op_duration(*whole, 4) == end - start
    assert abs(start / 1e6 - time.time()) < 60
    assert acl.get_model_id(*whole, 5) == 1
    found = read_records(records)
    assert found["cube_flops"].tolist() == [2 * 1024**3, 0, 2 * 1024**3] * 2
    assert (found["execution_us"] <= found["duration_us"]).all()
    assert (found["start_us"][1:] >= found["end_us"][:-1]).all()


def test_getters_on_what_is_no_record(acl, records):
    damaged = bytearray(records)
    damaged[100] ^= 1
    damaged = bytes(damaged)
    bad = [(address(damaged), len(damaged)), (address(records), len(records) - 1), (0, 80), (4096, 80), (2**64 - 8, 80)]
    for place in [*bad, (address(records), 0), (address(records), 2**63), (2**63, 2**40 * 80)]:
        assert acl.get_op_num(*place) == (0, 100000)
        assert acl.get_op_name(*place, 0, 275) == ("", 100000)
        assert acl.get_op_type_v2(*place, 0) == (None, 100000)
        assert acl.get_op_start(*place, 0) == acl.get_op_end(*place, 0) == acl.get_op_duration(*place, 0) == 0
        assert acl.get_model_id(*place, 0) == 100000
    whole = address(records), len(records)
    assert acl.get_op_start(*whole, 6) == 0
    assert acl.get_op_type(*whole, 2**32 - 1, 65) == ("", 100000)


def test_durations_equal_op_summary(acl):
    """Also of a kernel right behind an equal one, in the same run or from one run to the next: it takes less time."""
    runs = 30
    with Reader() as reader:
        assert acl.model_subscribe(1, acl.create_subscribe_config(1, 0, reader.sink)) == 0
        for _ in range(runs):
            acl.execute()
        assert acl.model_unsubscribe(1) == 0
    assert acl.init("out") == 0
    assert acl.start(acl.create_config([0], 0, 0, 0x2)) == 0
    for _ in range(runs):
        acl.execute()
    assert acl.finalize() == 0
    (summary,) = Path("out").glob("PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    with summary.open(newline="") as file:
        expected = np.array([float(row["Task Duration(us)"]) for row in csv.DictReader(file)])
    found = read_records(reader.data)["duration_us"].astype(float)
    assert len(expected) == 3 * runs
    assert len(set(expected.tolist())) > runs, "noise of its own for every launch"
    # Records hold whole microseconds: the difference of two that were cut. Over many runs that evens out.
    assert (abs(found - expected) < 1).all()
    assert abs((found - expected).reshape(runs, 3)[1:].mean(axis=0)).max() < 0.4


@pytest.mark.parametrize("stalled", [False, True])
def test_every_record_is_read_or_counted_once(capfd, monkeypatch, stalled):
    """10 groups of 300 records; the pipe holds some, the thread holds a group that it wrote in part, the rest waits."""
    monkeypatch.setattr("drynpu_acl.prof._pipe._STALL_S", 0.3)
    reader = Reader()
    if not stalled:
        reader.thread.start()
    pipe = RecordPipe(reader.sink)
    for _ in range(10):
        pipe.put(300, lambda: bytes(300 * 80))
    pipe.close()
    if stalled:
        reader.thread.start()
    reader.__exit__()
    printed = re.findall(r"(\d+) subscription records were dropped", capfd.readouterr().err)
    assert len(reader.data) // 80 + sum(map(int, printed)) == 3000
    assert bool(printed) is stalled


def test_a_reader_that_does_not_read_blocks_nothing(acl, capsys, monkeypatch):
    stall_s, runs = 0.3, 1000
    monkeypatch.setattr("drynpu_acl.prof._pipe._STALL_S", stall_s)
    source, sink = os.pipe()
    capacity = fcntl.fcntl(sink, fcntl.F_GETPIPE_SZ)
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, sink)) == 0
    run = acl.profiling.subscriptions
    operators = _run_of(acl)
    begin = time.monotonic()
    for _ in range(runs):
        run.executed(1, operators, 10**18, 10**18 + 10**6, 0)
    assert acl.model_unsubscribe(1) == 0
    # Each that waited for the reader would take the time of a stall.
    assert time.monotonic() - begin < runs * stall_s
    assert "subscription records were dropped" in capsys.readouterr().err
    data = b""
    while piece := os.read(source, 8000):
        data += piece
    os.close(source)
    # A write begins a new page of the pipe where it does not fit into the last one, so up to half of each stays empty.
    assert len(data) > capacity // 2
    assert read_records(data) is not None, "what came is whole"


def _run_of(acl):
    kept = []
    acl.execute(tell=lambda *of: kept.append(of))
    return kept[0][2]


def test_a_reader_that_dies_costs_the_records_alone(acl):
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever sets it so dies of a broken pipe
    try:
        source, sink = os.pipe()
        assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, sink)) == 0
        acl.execute()
        os.close(source)
        for _ in range(5):
            acl.execute()
            time.sleep(0.05)
        assert acl.model_unsubscribe(1) == 0
    finally:
        signal.signal(signal.SIGPIPE, before)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(sink)


def test_a_descriptor_that_the_script_closed_and_got_again_is_left_alone(acl, tmp_path):
    source, sink = os.pipe()
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, NONE, sink)) == 0
    os.close(sink)
    other = os.open(tmp_path / "mine", os.O_WRONLY | os.O_CREAT)
    assert other == sink
    acl.execute()
    assert acl.model_unsubscribe(1) == 0
    assert len(os.read(source, 4000)) == 240
    assert os.read(source, 80) == b"", "at its end"
    os.close(other)
    os.close(source)
    assert (tmp_path / "mine").read_bytes() == b""


def test_a_process_that_ends_with_a_subscription_ends(tmp_path):
    script = (
        "import os, acl.prof\nfrom drynpu_acl.prof.process import PROFILING\n"
        "PROFILING.runtime = type('R', (), {'model_name': lambda self, model: 'm', 'device_id': lambda self: 0})()\n"
        "r, w = os.pipe()\n"
        "print(acl.prof.model_subscribe(1, acl.prof.create_subscribe_config(1, 255, w)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
