"""Times between events are the times of the simulated device, the same with and without a profile."""

from __future__ import annotations

import csv
import os

import pytest
from tests.acl.preamble import PREAMBLE
from tests.scripts import FRESH

TIMES = f"""{PREAMBLE}
check(acl.init())
check(acl.rt.set_device(0))
model = new(acl.mdl.load_from_file("wide.onnx"))
size = 512 * 1024 * 4

def dataset():
    buffers = acl.mdl.create_dataset()
    check(acl.mdl.add_dataset_buffer(buffers, acl.create_data_buffer(new(acl.rt.malloc(size, 0)), size)))
    return buffers

inputs, outputs = dataset(), dataset()
stream = new(acl.rt.create_stream())
begin, end = new(acl.rt.create_event()), new(acl.rt.create_event())

def timed(runs=3):
    check(acl.rt.record_event(begin, stream))
    for _ in range(runs):
        check(acl.mdl.execute_async(model, inputs, outputs, stream))
    check(acl.rt.record_event(end, stream))
    check(acl.rt.synchronize_stream(stream))
    elapsed_ms = new(acl.rt.event_elapsed_time(begin, end))
    assert elapsed_ms == new(acl.rt.event_elapsed_time(begin, end)), "the answer stays the same"
    return elapsed_ms

times = [timed(), timed()]
for metrics, mask in ((0, 0x1 | 0x2), (1, 0x1 | 0x2 | 0x4), (0, 0x80)):
    check(acl.prof.init("out"))
    config = acl.prof.create_config([0], metrics, 0, mask)
    check(acl.prof.start(config))
    times += [timed(), timed()]
    check(acl.prof.stop(config))
    check(acl.prof.finalize())
show("times", [*times, timed()])
show("back", acl.rt.event_elapsed_time(end, begin))
"""


@pytest.mark.slow
def test_times_are_the_same_with_and_without_a_profile(programs, models):
    folder = programs.folder()
    models.save(models.mlp(batch=512, sizes=(1024, 1024, 1024)), folder / "wide.onnx")
    run = programs(TIMES, folder=folder, environment={"DRYNPU_QUIET": "1", **FRESH})
    times = run.printed("times")
    assert len(times) == 9
    table = min(run.folder.glob("out/PROF_*/mindstudio_profiler_output/op_summary_*.csv"))
    with table.open(newline="", encoding="utf-8") as file:
        kernels_ms = sum(float(row["Task Duration(us)"]) for row in csv.DictReader(file)) / 1e3 / 2
    assert times == pytest.approx([times[0]] * len(times), rel=0.02)
    assert kernels_ms < times[0] < 2 * kernels_ms
    assert run.printed("back") == [0.0, 107007]


BUSY = """
import os, subprocess, sys
{move}
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
try:
    exec(open("times.py").read())
finally:
    for loop in loops:
        loop.kill()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="nobody can choose processors here")
def test_times_are_the_same_beside_busy_processes(programs, models):
    """Four loops share the one processor of the program, so it waits for its turn between its calls."""
    folder = programs.folder()
    models.save(models.mlp(batch=512, sizes=(1024, 1024, 1024)), folder / "wide.onnx")
    (folder / "times.py").write_text(TIMES)
    move = "os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])"
    run = programs(BUSY.format(move=move), folder=folder, environment={"DRYNPU_QUIET": "1", **FRESH})
    times = run.printed("times")
    assert len(times) == 9
    assert times == pytest.approx([times[0]] * len(times), rel=0.02)
