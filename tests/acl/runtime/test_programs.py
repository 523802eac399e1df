"""Programs that use each function of devices, memory, streams and callbacks, and what each of them changes."""

from __future__ import annotations

import csv

import pytest
from tests.acl.preamble import PREAMBLE
from tests.scripts import FRESH

from drynpu.platforms import load_chip

START = f"""{PREAMBLE}import threading
import time

H2D, D2H, D2D = 1, 2, 3

check(acl.init())
"""

DEVICES = (
    START
    + """
show("devices", [new(acl.rt.get_device_count()), new(acl.rt.get_run_mode()), acl.rt.set_device(2), acl.rt.get_device()])
check(acl.rt.set_device(0))
first = new(acl.rt.get_context())
pointer = new(acl.rt.malloc(1000, 0))
free, total, ret = acl.rt.get_mem_info(1)
second = new(acl.rt.create_context(1))
there = new(acl.rt.get_device())
show("contexts", [second == new(acl.rt.get_context()), there, total - free, total - acl.rt.get_mem_info(1)[0]])
show("memory", [free, total])
check(acl.rt.set_context(first))
stream = new(acl.rt.create_stream())
show("back", [new(acl.rt.get_device()), acl.rt.get_context()[0] == first])
check(acl.rt.set_context(second))
show("foreign", acl.rt.synchronize_stream(stream))
check(acl.rt.set_context(first))
check(acl.rt.destroy_stream(stream))
check(acl.rt.destroy_context(second))
show("gone", [acl.rt.destroy_stream(stream), acl.rt.set_context(second), acl.rt.synchronize_stream(stream)])
check(acl.rt.reset_device(0))
show("reset", [acl.rt.free(pointer), acl.rt.get_context()])
show("counted", [acl.init(), acl.finalize_reference(), acl.rt.set_device(0), acl.finalize_reference(),
                 acl.rt.set_device(0), acl.finalize()])
"""
)

MEMORY = (
    START
    + """
check(acl.rt.set_device(0))
total = acl.rt.get_mem_info(1)[1]
one, other = new(acl.rt.malloc(64, 0)), new(acl.rt.malloc(64, 0))
host = new(acl.rt.malloc_host(64))
used = total - acl.rt.get_mem_info(1)[0]

def read(pointer):
    check(acl.rt.memcpy(host, 64, pointer, 64, D2H))
    return sorted(set(acl.util.ptr_to_bytes(host, 64)))

check(acl.rt.memset(one, 64, 3, 64))
seen = [read(one)]
check(acl.rt.memcpy(other, 64, one, 64, D2D))
seen.append(read(other))
stream = new(acl.rt.create_stream())
check(acl.rt.memset_async(other, 64, 5, 64, stream))
seen.append(read(other))
check(acl.rt.memcpy_async(one, 64, other, 64, D2D, stream))
seen.append(read(one))
show("seen", seen)
check(acl.rt.free(one))
show("freed", [used, total - acl.rt.get_mem_info(1)[0], acl.rt.memset(one, 64, 1, 64)])
check(acl.rt.free_host(host))
show("host", acl.rt.memcpy(host, 64, other, 64, D2H))
"""
)

CALLBACKS = (
    START
    + """
check(acl.rt.set_device(0))
context = new(acl.rt.get_context())
stream = new(acl.rt.create_stream())
seen, stopped = [], threading.Event()

def report(arguments):
    check(acl.rt.set_context(context))
    while not stopped.is_set():
        acl.rt.process_report(20)

thread = new(acl.util.start_thread(report, []))
show("early", acl.rt.launch_callback(seen.append, 0, 1, stream))
check(acl.rt.subscribe_report(thread, stream))
for number in range(3):
    check(acl.rt.launch_callback(lambda value: seen.append((time.sleep(0.02), value)[1]), number, 1, stream))
check(acl.rt.synchronize_stream(stream))
show("seen", seen)
for number, wait in enumerate((acl.rt.synchronize_device, lambda: acl.rt.synchronize_stream_with_timeout(stream, -1))):
    check(acl.rt.launch_callback(lambda value: seen.append((time.sleep(0.05), value)[1]), f"wait {number}", 1, stream))
    check(wait())
    show(f"waited{number}", seen[-1])
check(acl.rt.launch_callback(lambda _: time.sleep(0.3), None, 1, stream))
show("limited", acl.rt.synchronize_stream_with_timeout(stream, 5))
check(acl.rt.synchronize_stream(stream))
check(acl.rt.unsubscribe_report(thread, stream))
show("late", acl.rt.launch_callback(seen.append, 0, 1, stream))
stopped.set()
show("thread", [acl.util.stop_thread(thread), acl.util.stop_thread(thread)])
"""
)

ORDER = (
    START
    + """
check(acl.rt.set_device(0))
model = new(acl.mdl.load_from_file("wide.onnx"))
size = 512 * 1024 * 4

def dataset():
    buffers = acl.mdl.create_dataset()
    pointer = new(acl.rt.malloc(size, 0))
    check(acl.mdl.add_dataset_buffer(buffers, acl.create_data_buffer(pointer, size)))
    return buffers, pointer

(inputs, _), (outputs, result) = dataset(), dataset()
stream, other = new(acl.rt.create_stream()), new(acl.rt.create_stream())
begin, end = new(acl.rt.create_event()), new(acl.rt.create_event())
host = new(acl.rt.malloc_host(size))
show("unrecorded", acl.rt.event_elapsed_time(begin, end))
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x1 | 0x2)
check(acl.prof.start(config))
for wait in (lambda: acl.rt.synchronize_stream(stream), lambda: acl.rt.synchronize_stream_with_timeout(stream, 60000),
             acl.rt.synchronize_device, lambda: acl.rt.synchronize_event(end)):
    check(acl.rt.record_event(begin, stream))
    check(acl.mdl.execute_async(model, inputs, outputs, stream))
    check(acl.rt.record_event(end, stream))
    check(wait())
elapsed_ms, ret = acl.rt.event_elapsed_time(begin, end)
check(ret)
check(acl.mdl.execute(model, inputs, outputs))
check(acl.mdl.execute_async(model, inputs, outputs, stream))
check(acl.rt.record_event(end, stream))
check(acl.rt.stream_wait_event(other, end))
check(acl.rt.memcpy_async(host, size, result, size, D2H, other))
check(acl.rt.synchronize_stream(other))
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.rt.reset_event(end, stream))
show("events", [elapsed_ms > 0, acl.rt.event_elapsed_time(begin, end), acl.rt.destroy_event(end),
                acl.rt.record_event(end, stream)])
check(acl.finalize())
"""
)


def test_devices_contexts_and_streams(programs):
    run = programs(DEVICES, environment={"DRYNPU_DEVICES": "2"})
    assert run.printed("devices") == [2, 1, 107001, [0, 107002]]
    assert run.printed("contexts") == [True, 1, 1000, 0], "each device has its memory"
    total = load_chip("Ascend910B2").memory_bytes
    assert run.printed("memory") == [total - 1000, total]
    assert run.printed("back") == [0, True]
    assert run.printed("foreign") == 107003
    assert run.printed("gone") == [107017, 107017, 107017]
    assert run.printed("reset") == [107000, [0, 107002]], "what was on the device is gone"
    assert run.printed("counted") == [100002, [1, 0], 0, [0, 0], 100001, 100037]


def test_memory(programs):
    run = programs(MEMORY)
    assert run.printed("seen") == [[3], [3], [5], [5]]
    assert run.printed("freed") == [128, 64, 107000]
    assert run.printed("host") == 107000


def test_callbacks(programs):
    run = programs(CALLBACKS)
    assert (run.printed("early"), run.printed("late")) == (107015, 107015), "nobody is subscribed"
    assert run.printed("seen") == [0, 1, 2]
    assert (run.printed("waited0"), run.printed("waited1")) == ("wait 0", "wait 1")
    assert run.printed("limited") == 507046
    assert run.printed("thread") == [0, 100000]


def rows(run, stem):
    (found,) = run.folder.glob(f"out/PROF_*/mindstudio_profiler_output/{stem}_*.csv")
    with found.open(newline="", encoding="utf-8") as file:
        return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file)]


@pytest.mark.slow
def test_waits_and_events_order_host_and_device(programs, models):
    folder = programs.folder()
    models.save(models.mlp(batch=512, sizes=(1024, 1024, 1024)), folder / "wide.onnx")
    run = programs(ORDER, folder=folder, environment={"DRYNPU_QUIET": "1", **FRESH})
    kernels = rows(run, "op_summary")
    count = len(kernels) // 6
    durations_us = [float(row["Task Duration(us)"]) for row in kernels]
    calls = {row["API Name"]: row for row in rows(run, "api_statistic")}
    for name in (
        "aclrtSynchronizeStreamWithTimeout",
        "aclrtSynchronizeDevice",
        "aclrtSynchronizeEvent",
        "aclmdlExecute",
    ):
        assert calls[name]["Count"] == "1", name
        assert float(calls[name]["Time(us)"]) > sum(durations_us[:count]) / 2, name
    assert calls["aclmdlExecuteAsync"]["Count"] == "5"
    assert calls["aclrtSynchronizeStream"]["Count"] == "2"
    assert float(calls["aclmdlExecuteAsync"]["Max(us)"]) < sum(durations_us[:count]) / 2, "it waits for nothing"
    (copy,) = (row for row in rows(run, "task_time") if row["kernel_type"] == "MEMCPY_ASYNC")
    last = float(kernels[-1]["Task Start Time(us)"]) + durations_us[-1]
    assert float(copy["task_start(us)"]) >= last - 0.001
    assert copy["stream_id"] not in {row["Stream ID"] for row in kernels}
    assert run.printed("unrecorded") == [0.0, 107006]
    assert run.printed("events") == [True, [0.0, 107006], 0, 107017]
