"""What MindSpore recorded of its own host side: its runtime's events, data pipelines, Python calls."""

from __future__ import annotations

import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_ABSENT, MS_EVENTS, MS_MODULES, MsOpRangeField
from drynpu_mindspore.capture import _host_events
from drynpu_mindspore.capture._capture import Capture
from drynpu_mindspore.capture._captured import CaptureOptions
from drynpu_mindspore.capture._host_events import HostEventCapture, hide_own_calls
from drynpu_mindspore.capture._launches import Launches, on_threads
from drynpu_mindspore.capture._library import load_library

MODES = ("graph", "pynative")
NAME, MODULE, EVENT = MsOpRangeField.NAME, MsOpRangeField.MODULE, MsOpRangeField.EVENT


def events(workloads, mode, name):
    return workloads(mode)[name][1].host_events


def texts(found, field, rows=slice(None)):
    return [found.texts[index][field] for index in found.text_index[rows].tolist()]


def kinds(found):
    records = found.records[~found.records["is_graph_data"] & ~found.records["is_stage"] & ~found.records["is_stack"]]
    pairs = zip(records["module"].tolist(), records["event"].tolist(), strict=True)
    return Counter((MS_MODULES[module], MS_EVENTS[event]) for module, event in pairs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["events", "calls", "dataset"])
def test_times_are_those_of_the_recording(workloads, mode, name):
    begin_ns, captured, end_ns = workloads(mode)[name]
    records = captured.host_events.records
    # What was begun before the start, as a thread's wait for work, is told when it ends.
    started = records[records["start"].astype(np.int64) >= begin_ns - 1_000_000]
    assert len(started) > 10
    assert (started["start"] <= started["end"]).all()
    assert started["end"].max() <= end_ns + 1_000_000


@pytest.mark.parametrize("mode", MODES)
def test_operators_lie_on_the_threads_that_launched_them(workloads, mode):
    alone, told = (workloads(mode)[name][1].operators for name in ("again", "events"))
    assert len(np.unique(alone.thread)) == 1
    assert len(alone) == len(told)
    threads = set(np.unique(told.thread).tolist())
    assert threads <= set(events(workloads, mode, "events").records["tid"].tolist())
    if mode == "pynative":
        assert threads - set(alone.thread.tolist()), "PyNative launches from a thread of its own"


def test_layers_of_the_runtime_are_told_and_launches_are_left_to_the_simulation(workloads):
    graph, pynative = (kinds(events(workloads, mode, "events")) for mode in MODES)
    assert graph["RuntimeFramework", "OutputProcess"] >= 2
    assert pynative["PynativeFramework", "PyNativeFrontendTask"] > 10
    for found in (graph, pynative):
        assert not found.keys() & {
            ("Kernel", "KernelLaunch"),
            ("PynativeFramework", "PyNativeLaunchTask"),
            ("PynativeFramework", "RunOp"),
            ("RuntimeFramework", "PreLaunch"),
        }


def test_flows_lead_from_the_calling_thread_to_another(workloads):
    found = events(workloads, "pynative", "events")
    flows = np.flatnonzero(found.records["flow_id"] != MS_ABSENT)
    begun = np.array(texts(found, NAME, flows)) == "flow"
    records = found.records[flows]
    assert begun.sum() > 10
    first = dict(zip(records["flow_id"][begun].tolist(), records["tid"][begun].tolist(), strict=True))
    ended = records[~begun]
    assert (ended["tid"] != [first[flow] for flow in ended["flow_id"].tolist()]).all()


@pytest.mark.parametrize("mode", MODES)
def test_python_calls_are_those_of_the_script_and_of_mindspore(workloads, mode):
    plain, found = events(workloads, mode, "events"), events(workloads, mode, "calls")
    assert not plain.records["is_stack"].any()
    calls = np.flatnonzero(found.records["is_stack"])
    names = texts(found, NAME, calls)
    assert sum(name.startswith("workloads.py(") and name.endswith(":twice") for name in names) == 1
    assert sum(name.startswith("mindspore/nn/cell.py(") for name in names) > 10
    assert [name for name in names if name.startswith("<built-in ")]
    assert not [name for name in names if "drynpu" in name]


@pytest.mark.parametrize("mode", MODES)
def test_operators_of_the_data_pipeline_are_told_by_batch(workloads, mode):
    found = events(workloads, mode, "dataset")
    rows = np.array(texts(found, MODULE)) == "Dataset"
    counts = Counter(zip(texts(found, EVENT, rows), texts(found, NAME, rows), strict=True))
    assert (
        sum(count for (event, name), count in counts.items() if event.startswith("GeneratorOp") and name == "__next__")
        == 25
    )
    assert (
        sum(count for (event, name), count in counts.items() if event.startswith("BatchOp") and name == "WorkerProcess")
        >= 3
    )


def test_without_the_library_there_are_no_events_and_a_note(tmp_path):
    assert load_library(tmp_path) is None
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmindspore_profiler.so").write_text("no library")
    assert load_library(tmp_path) is None
    recorder = HostEventCapture(library=None)
    recorder.start(with_stack=True)
    left = recorder.stop()()
    found, launches = left.events, left.launches
    assert len(found) == len(launches) == 0
    capture = Capture(recorder=recorder, options=CaptureOptions(host_events=True, with_stack=True))
    (note,) = capture._unavailable()
    assert "with_stack" in note


@pytest.mark.parametrize(("version", "available"), [("2.7.2", True), ("2.11.0", False), ("3.2.7.1", False)])
def test_another_release_is_not_trusted_to_have_the_same_functions(monkeypatch, version, available):
    # MindSpore itself is imported in processes of their own: other tests want to see it missing here.
    monkeypatch.setitem(
        sys.modules, "mindspore", SimpleNamespace(__version__=version, __file__="mindspore/__init__.py")
    )
    monkeypatch.setattr(_host_events, "load_library", lambda package: f"library of {package}")
    assert HostEventCapture().available is available


def launches(spans):
    return Launches(
        names=("MatMul",),
        name=np.zeros(len(spans), np.int32),
        start_ns=np.array([start for start, _ in spans], np.int64),
        end_ns=np.array([end for _, end in spans], np.int64),
        thread=np.zeros(len(spans), np.int64),
        described=(),
        description=np.full(len(spans), -1, np.int32),
    )


def test_a_launch_without_an_event_stays_where_it_was():
    reported = launches([(100, 200), (300, 400), (500, 600)])
    found = on_threads(reported, np.array([[110, 190, 7], [520, 580, 8]], np.int64))
    assert found.thread.tolist() == [7, 0, 8]
    assert on_threads(reported, np.empty((0, 3), np.int64)).thread.tolist() == [0, 0, 0]


def calls_of(rows):
    records = np.zeros(len(rows), mindspore_facts.MS_OP_RANGE)
    records["is_stack"] = True
    for row, (_, thread, start, end) in enumerate(rows):
        records[row]["tid"], records[row]["start"], records[row]["end"] = thread, start, end
    return records, np.arange(len(rows)), tuple({int(NAME): row[0]} for row in rows)


def test_what_our_own_functions_call_is_left_out_and_what_they_stand_in_for_is_not():
    rows = [
        ("train.py(1):main", 1, 0, 100),
        ("drynpu_mindspore/profiler/_profilers.py(9):step", 1, 10, 30),
        ("logging.py(5):info", 1, 11, 29),
        ("drynpu_mindspore/patching/_device.py(9):set", 1, 40, 60),
        ("mindspore/context.py(5):set_context", 1, 41, 59),
        ("logging.py(5):info", 2, 12, 20),
        ("train.py(9):after", 1, 70, 80),
        ("drynpu_mindspore_kernels/_narrow_types.py(52):initialise", 1, 81, 90),
        ("mindspore/common/initializer.py(9):initializer", 1, 82, 89),
        ("drynpu/recorder/_actions.py(84):transition", 1, 91, 99),
        ("enum.py(5):value", 1, 92, 98),
    ]
    hidden = hide_own_calls(*calls_of(rows))
    assert hidden.tolist() == [False, True, True, True, *[False] * 3, True, False, True, True]


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=12))
def test_a_call_is_left_out_exactly_if_one_of_ours_is_around_it(drawn):
    rows = [
        ("drynpu_mindspore/a.py(1):f" if own else "b.py(1):g", thread, start, start + length)
        for thread, start, length, own in drawn
    ]
    # Calls of one thread lie in each other or apart.
    rows = [
        row
        for number, row in enumerate(rows)
        if not any(
            row[1] == other[1]
            and row[2] < other[3]
            and other[2] < row[3]
            and not (row[2] <= other[2] and other[3] <= row[3])
            and not (other[2] <= row[2] and row[3] <= other[3])
            for other in rows[:number]
        )
    ]
    own = [row for row in rows if row[0].startswith("drynpu")]
    expected = [any(o[1] == row[1] and o[2] <= row[2] and row[3] <= o[3] for o in own) for row in rows]
    assert hide_own_calls(*calls_of(rows)).tolist() == expected
