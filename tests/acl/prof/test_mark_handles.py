"""MarkHandles, marks and ranges, with and without the bit that records them."""

from __future__ import annotations

import csv
import threading
from pathlib import Path

import pytest

WITH, WITHOUT = 0x83, 0x3


@pytest.fixture
def running(acl):
    assert acl.init("out") == 0
    assert acl.start(acl.create_config([0], 0, 0, WITH)) == 0
    return acl


def stamp_of(acl, text):
    stamp = acl.create_stamp()
    assert stamp != 0
    assert acl.set_stamp_trace_message(stamp, text, len(text)) == 0
    return stamp


def rows_after(acl):
    assert acl.finalize() == 0
    (found,) = sorted(Path("out").glob("PROF_*/mindstudio_profiler_output/msprof_tx_*.csv"))[-1:]
    with found.open(newline="") as file:
        return list(csv.DictReader(file))


def test_nothing_is_to_be_had_outside_of_start_and_stop(acl):
    assert acl.create_stamp() == 0
    assert acl.mark(0) == acl.push(0) == acl.pop() == acl.range_stop(0) == acl.mark_ex("m", 0x5000) == -1
    assert acl.range_start(0) == (0, -1)
    assert acl.set_stamp_trace_message(0, "m", 1) == -1
    assert acl.destroy_stamp(0) is None


def test_without_the_bit_it_works_unless_strict(make, capsys):
    lenient, strict = make(), make(STRICT="1")
    for acl in (lenient, strict):
        assert acl.init("out") == 0
        assert acl.start(acl.create_config([0], 0, 0, WITHOUT)) == 0
    assert strict.create_stamp() == 0
    assert "lacks ACL_PROF_MSPROFTX (0x80)" in capsys.readouterr().err
    stamp = stamp_of(lenient, "forgotten")
    assert "lacks ACL_PROF_MSPROFTX (0x80)" in capsys.readouterr().err
    assert lenient.mark(stamp) == 0
    assert [row["message"] for row in rows_after(lenient)] == ["forgotten"]
    strict.finalize()
    assert len(list(Path("out").glob("PROF_*/mindstudio_profiler_output/msprof_tx_*.csv"))) == 1


def test_the_pool_has_a_hundred(running):
    stamps = [running.create_stamp() for _ in range(101)]
    assert stamps[-1] == 0
    assert 0 not in stamps[:-1]
    assert running.destroy_stamp(stamps[3]) is None
    again = running.create_stamp()
    assert again not in (0, *stamps)
    assert running.mark(stamps[3]) == -1, "freed"
    assert running.mark(again) == 0


def test_messages_are_cut_in_bytes_and_bounded(running):
    stamp = running.create_stamp()
    assert running.set_stamp_trace_message(stamp, "x" * 128, 128) == -1
    assert running.set_stamp_trace_message(stamp, "x" * 127, 127) == 0
    assert running.set_stamp_trace_message(stamp, "äöü", 3) == 0
    assert running.mark(stamp) == 0
    assert running.mark_ex("", 0x5000) == running.mark_ex("x" * 128, 0x5000) == -1
    assert running.mark_ex("m", 0) == running.mark_ex("m", 4711) == -1
    assert [row["message"] for row in rows_after(running)] == ["ä"]


def test_nested_and_overlapping_ranges(running):
    outer, inner, long = (stamp_of(running, name) for name in ("outer", "inner", "long"))
    number, code = running.range_start(long)
    assert code == 0
    assert running.push(outer) == running.push(inner) == running.pop() == 0
    assert running.mark_ex("on the device", 0x5000) == 0
    assert running.range_stop(number) == running.pop("ignored") == 0
    assert running.pop() == running.range_stop(99) == -1
    rows = {row["message"]: row for row in rows_after(running)}
    kinds = {name: row["event_type"] for name, row in rows.items()}
    assert kinds == {"outer": "push/pop", "inner": "push/pop", "long": "start/end", "on the device": "marker_ex"}
    time = {name: (float(row["Start_time(us)"]), float(row["End_time(us)"])) for name, row in rows.items()}
    assert time["outer"][0] <= time["inner"][0] <= time["inner"][1] <= time["outer"][1]
    assert time["long"][0] <= time["outer"][0] <= time["long"][1] <= time["outer"][1]
    assert rows["on the device"]["Device Start_time(us)"].strip() != "N/A"


def test_a_range_that_is_stopped_twice_is_there_twice(running):
    number, _ = running.range_start(stamp_of(running, "twice"))
    assert running.range_stop(number) == running.range_stop(number) == 0
    assert len(rows_after(running)) == 2


def test_the_thread_of_a_range_is_the_one_that_ends_it(running):
    number, _ = running.range_start(stamp_of(running, "handed over"))
    seen = []

    def stop():
        seen.extend((running.range_stop(number), threading.get_native_id()))

    thread = threading.Thread(target=stop)
    thread.start()
    thread.join()
    (row,) = rows_after(running)
    assert seen[0] == 0
    assert row["tid"] == str(seen[1])


@pytest.mark.slow
def test_eight_threads_of_a_hundred_thousand_marks_lose_none(running):
    stamps = [running.create_stamp() for _ in range(8)]
    failed = []

    def work(stamp):
        mark = running.calls["mark"]
        failed.append(sum(mark(stamp) for _ in range(100_000)))

    threads = [threading.Thread(target=work, args=(stamp,)) for stamp in stamps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    marks = running.profiling.sessions.captured.marks
    assert failed == [0] * 8
    assert len(marks) == 800_000
    # Of what is written a part is enough: every mark becomes one record.
    del marks[8_000:]
    assert len(rows_after(running)) == 8_000
