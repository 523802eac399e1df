"""
The programs of the product guide's page on profiling with pyACL, completed with a model and a data set.

What the page leaves to the reader (resources, model, data) stands in front, once; then its calls as it has them: the
literal 0 for the counters, ``pop`` with an argument, the missing MSPROFTX bit of the ranges, both orders of
``destroy_config`` and ``finalize``, and the subscription whose reader is joined before anybody closes the pipe.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

BEFORE = """
import os
import acl
import numpy as np
from onnx import TensorProto, helper, numpy_helper

def value(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

nodes = [
    helper.make_node("MatMul", ["x", "w"], ["h"], "fc"),
    helper.make_node("Relu", ["h"], ["y"], "relu"),
]
weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
graph = helper.make_graph(nodes, "small", [value("x", 8, 64)], [value("y", 8, 64)], [weight])
with open("small.om", "wb") as file:
    file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())

assert acl.init(*CONFIG) == 0
assert acl.rt.set_device(0) == 0
context, ret = acl.rt.create_context(0)
stream, ret = acl.rt.create_stream()
assert ret == 0
model_id, ret = acl.mdl.load_from_file("small.om")
assert ret == 0

def dataset():
    data = acl.mdl.create_dataset()
    pointer, ret = acl.rt.malloc(8 * 64 * 4, 0)
    assert ret == 0
    data, ret = acl.mdl.add_dataset_buffer(data, acl.create_data_buffer(pointer, 8 * 64 * 4))
    assert ret == 0
    return data

input, output = dataset_input, dataset_output = dataset(), dataset()
PROF_INIT_PATH = "out"
ACL_AICORE_ARITHMETIC_UTILIZATION = 0
ACL_PROF_ACL_API = 0x0001
ACL_PROF_TASK_TIME = 0x0002
ACL_PROF_AICORE_METRICS = 0x0004
ACL_PROF_AICPU_TRACE = ACL_PROF_AICPU = 0x0008
ACL_PROF_L2CACHE = 0x0010
ACL_PROF_HCCL_TRACE = 0x0020
ACL_PROF_MSPROFTX = 0x0080
ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3
device_list = [0]
mem_freq = "15"
"""

AFTER = """
acl.mdl.unload(model_id)
acl.rt.destroy_stream(stream)
acl.rt.destroy_context(context)
acl.rt.reset_device(0)
assert acl.finalize() == 0
print("done")
"""

COLLECT = """
ret = acl.prof.init(PROF_INIT_PATH)
prof_config = acl.prof.create_config(device_list, 0, 0, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICPU
                                     | ACL_PROF_AICORE_METRICS | ACL_PROF_L2CACHE | ACL_PROF_HCCL_TRACE)
ret = acl.prof.set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, mem_freq)
assert ret == 0
ret = acl.prof.start(prof_config)
assert ret == 0
ret = acl.mdl.execute(model_id, input, output)
ret = acl.prof.stop(prof_config)
assert ret == 0
ret = acl.prof.destroy_config(prof_config)
assert ret == 0
ret = acl.prof.finalize()
assert ret == 0
"""

TX = """
ret = acl.prof.init(PROF_INIT_PATH)
assert ret == 0
prof_config = acl.prof.create_config(device_list, ACL_AICORE_ARITHMETIC_UTILIZATION, 0, {mask})
assert prof_config != 0
{set_config}
ret = acl.prof.start(prof_config)
assert ret == 0
{body}
ret = acl.prof.stop(prof_config)
assert ret == 0
ret = acl.prof.finalize()
assert ret == 0
ret = acl.prof.destroy_config(prof_config)
assert ret == 0
"""
SET = "ret = acl.prof.set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, mem_freq)\nassert ret == 0"
EXECUTE = "ret = acl.mdl.execute(model_id, dataset_input, dataset_output)\nassert ret == 0\n"


def stamped(message, then):
    return (
        f"stamp = acl.prof.create_stamp()\nassert stamp != 0\nmsg = {message!r}\n"
        "ret = acl.prof.set_stamp_trace_message(stamp, msg, len(msg))\nassert ret == 0\n"
        f"{then}acl.prof.destroy_stamp(stamp)\n"
    )


MARK = stamped("model_load_mark", "ret = acl.prof.mark(stamp)\nassert ret == 0\n") + stamped(
    "model_exec_mark", "ret = acl.prof.mark(stamp)\nassert ret == 0\n"
)
MARK_EX = (
    'ret = acl.prof.mark_ex("model execute start", stream)\nassert ret == 0\n'
    "ret = acl.mdl.execute_async(model_id, input, output, stream)\nassert ret == 0\n"
    'ret = acl.prof.mark_ex("model execute stop", stream)\nassert ret == 0\n'
)
PUSH = stamped(
    "acl.mdl.execute_duration",
    f"ret = acl.prof.push(stamp)\nassert ret == 0\n{EXECUTE}ret = acl.prof.pop(stamp)\nassert ret == 0\n",
)
RANGE = stamped(
    "acl.mdl.execute_duration",
    f"range_id, ret = acl.prof.range_start(stamp)\nassert ret == 0\n{EXECUTE}"
    "ret = acl.prof.range_stop(range_id)\nassert ret == 0\n",
)

SUBSCRIBE = """
r, w = os.pipe()
ACL_AICORE_NONE = 0xFF
subscribe_config = acl.prof.create_subscribe_config(1, ACL_AICORE_NONE, w)
ret = acl.prof.model_subscribe(model_id, subscribe_config)
assert ret == 0

def get_model_info(data, data_len):
    op_number, ret = acl.prof.get_op_num(data, data_len)
    for i in range(op_number):
        model_id = acl.prof.get_model_id(data, data_len, i)
        op_type, ret = acl.prof.get_op_type(data, data_len, i, 65)
        op_name, ret = acl.prof.get_op_name(data, data_len, i, 275)
        op_start = acl.prof.get_op_start(data, data_len, i)
        op_end = acl.prof.get_op_end(data, data_len, i)
        op_duration = acl.prof.get_op_duration(data, data_len, i)
        print("op", model_id, op_type, op_name, op_end - op_start, op_duration)

def prof_data_read(args):
    fd, ctx = args
    ret = acl.rt.set_context(ctx)
    buffer_size, ret = acl.prof.get_op_desc_size()
    N = 10
    data_len = buffer_size * N
    while True:
        data = os.read(fd, data_len)
        if len(data) == 0:
            break
        np_data = np.array(data)
        bytes_data = np_data.tobytes()
        np_data_ptr = acl.util.bytes_to_ptr(bytes_data)
        size = np_data.itemsize * np_data.size
        get_model_info(np_data_ptr, size)

thr_id, ret = acl.util.start_thread(prof_data_read, [r, context])
ret = acl.mdl.execute(model_id, input, output)
assert ret == 0
acl.mdl.unload(model_id)
ret = acl.prof.model_unsubscribe(model_id)
assert ret == 0
ret = acl.util.stop_thread(thr_id)
os.close(r)
ret = acl.prof.destroy_subscribe_config(subscribe_config)
assert ret == 0
"""


@frozen
class Ran:
    folder: Path
    out: str
    errors: str

    def rows(self, stem):
        (found,) = self.folder.glob(f"out/PROF_*/mindstudio_profiler_output/{stem}_*.csv")
        with found.open(newline="", encoding="utf-8") as file:
            return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file)]


@pytest.fixture
def run(programs, tmp_path):
    pytest.importorskip("onnx")

    def of(body, config="", **settings):
        path = tmp_path / "guide.py"
        path.write_text(f"CONFIG = [{config}]\n{BEFORE}{body}{AFTER}")
        done = programs(path, folder=tmp_path, environment={"DRYNPU_QUIET": "1", **settings})
        assert done.stdout.endswith("done\n")
        return Ran(tmp_path, done.stdout, done.stderr)

    return of


def test_collecting(run):
    found = run(COLLECT)
    assert [row["Op Name"] for row in found.rows("op_summary")] == ["fc", "relu"]
    assert "aicore_time(us)" in found.rows("op_summary")[0]
    assert "aclmdlExecute" in [row["API Name"] for row in found.rows("api_statistic")]
    assert found.rows("hbm"), "15 Hz were set"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "mask", "messages"),
    [
        (MARK, "ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_MSPROFTX", ["model_load_mark", "model_exec_mark"]),
        (MARK_EX, "ACL_PROF_MSPROFTX", ["model execute start", "model execute stop"]),
        (PUSH, "ACL_PROF_ACL_API | ACL_PROF_TASK_TIME", ["acl.mdl.execute_duration"]),
        (RANGE, "ACL_PROF_ACL_API | ACL_PROF_TASK_TIME", ["acl.mdl.execute_duration"]),
    ],
    ids=["mark", "mark_ex", "push", "range"],
)
def test_extension(run, body, mask, messages):
    found = run(TX.format(mask=mask, set_config="" if body is MARK_EX else SET, body=body))
    assert [row["message"] for row in found.rows("msprof_tx")] == messages
    if body is MARK_EX:
        before, after = (float(row["Device Start_time(us)"]) for row in found.rows("msprof_tx"))
        assert before < after
    assert ("lacks ACL_PROF_MSPROFTX" in found.errors) == ("MSPROFTX" not in mask)


@pytest.mark.slow
def test_the_samples_without_the_bit_fail_as_on_a_device_in_strict_mode(run):
    with pytest.raises(AssertionError, match="assert stamp != 0"):
        run(TX.format(mask="ACL_PROF_ACL_API | ACL_PROF_TASK_TIME", set_config=SET, body=PUSH), DRYNPU_STRICT="1")


def test_subscription(run):
    found = run(SUBSCRIBE)
    rows = [line.split()[1:] for line in found.out.splitlines() if line.startswith("op ")]
    assert [(row[0], row[2]) for row in rows] == [("1", "fc"), ("1", "relu")]
    assert all(row[3] == row[4] and int(row[3]) > 0 for row in rows)
    collected = run(COLLECT).rows("op_summary")
    for row, same in zip(rows, collected, strict=True):
        assert abs(int(row[4]) - float(same["Task Duration(us)"])) < 1, "cut to whole microseconds"


@pytest.mark.slow
def test_a_program_that_does_not_profile_itself_under_msprof(run, tmp_path):
    run("assert acl.mdl.execute(model_id, input, output) == 0")
    command = [sys.executable, "-m", "drynpu", "msprof", "--output=out", sys.executable, "guide.py"]
    environment = {**os.environ, "DRYNPU_PLUGINS": "msprof"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["Op Name"] for row in Ran(tmp_path, "", "").rows("op_summary")] == ["fc", "relu"]


STREAMS = """
other, ret = acl.rt.create_stream()
event, ret = acl.rt.create_event()
host, ret = acl.rt.malloc_host(8 * 64 * 4)
pointer = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(output, 0))
assert acl.prof.init(PROF_INIT_PATH) == 0
prof_config = acl.prof.create_config(device_list, 0, 0, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME)
assert acl.prof.start(prof_config) == 0
for _ in range(3):
    assert acl.mdl.execute_async(model_id, input, output, stream) == 0
assert acl.rt.record_event(event, stream) == 0
assert acl.rt.stream_wait_event(other, event) == 0
assert acl.rt.memcpy_async(host, 8 * 64 * 4, pointer, 8 * 64 * 4, 2, other) == 0
assert acl.rt.synchronize_stream(other) == 0
assert acl.prof.stop(prof_config) == 0
assert acl.prof.finalize() == 0
"""


@pytest.mark.slow
def test_streams_and_events_order_the_device(run):
    found = run(STREAMS)
    kernels = found.rows("op_summary")
    assert len(kernels) == 6
    (stream,) = {row["Stream ID"] for row in kernels}
    (copy,) = (row for row in found.rows("task_time") if row["kernel_type"] == "MEMCPY_ASYNC")
    assert copy["stream_id"] != stream
    last = float(kernels[-1]["Task Start Time(us)"]) + float(kernels[-1]["Task Duration(us)"])
    assert float(copy["task_start(us)"]) >= last - 0.001
    waits = [row for row in found.rows("api_statistic") if row["API Name"] == "aclrtSynchronizeStream"]
    assert [row["Count"] for row in waits] == ["1"]


@pytest.mark.slow
def test_a_configuration_file(run, tmp_path):
    (tmp_path / "acl.json").write_text('{"profiler": {"switch": "on", "output": "out"}}')
    found = run("assert acl.mdl.execute(model_id, input, output) == 0", config="'acl.json'")
    assert [row["Op Name"] for row in found.rows("op_summary")] == ["fc", "relu"]
    assert {"aclmdlExecute", "aclmdlUnload"} <= {row["API Name"] for row in found.rows("api_statistic")}
