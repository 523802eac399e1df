"""Programs that profile themselves with each function of acl.prof, and what each of them leaves."""

from __future__ import annotations

import csv
import json

import pytest
from tests.acl.preamble import PREAMBLE
from tests.scripts import FRESH

START = f"""{PREAMBLE}import os

check(acl.init(*CONFIG))
check(acl.rt.set_device(0))
model = new(acl.mdl.load_from_file("mlp.om"))

def dataset(size):
    buffers = acl.mdl.create_dataset()
    check(acl.mdl.add_dataset_buffer(buffers, acl.create_data_buffer(new(acl.rt.malloc(size, 0)), size)))
    return buffers

inputs, outputs = dataset(4 * 16 * 4), dataset(4 * 8 * 4)

def run():
    check(acl.mdl.execute(model, inputs, outputs))
"""
DONE = "\ncheck(acl.mdl.unload(model))\ncheck(acl.finalize())\n"

CONFIGURATIONS = """
config = acl.prof.create_config([0], 1, 0, 0x1 | 0x2 | 0x4)
show("before", [acl.prof.start(config), acl.prof.finalize(), acl.prof.create_config([0], 0, 1, 1)])
check(acl.prof.init("out"))
show("twice", acl.prof.init("out"))
freed = acl.prof.create_config([0], 0, 0, 1)
check(acl.prof.destroy_config(freed))
show("freed", acl.prof.start(freed))
check(acl.prof.set_config(3, "20"))
run()
check(acl.prof.start(config))
run()
check(acl.prof.stop(config))
run()
check(acl.prof.finalize())
show("after", acl.prof.stop(config))
"""

MARKS = """
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2 | 0x80)
check(acl.prof.start(config))
stream = new(acl.rt.create_stream())

def stamp(text):
    handle = acl.prof.create_stamp()
    check(acl.prof.set_stamp_trace_message(handle, text, len(text)))
    return handle

check(acl.prof.mark(stamp("point")))
check(acl.prof.mark_ex("both sides", stream))
check(acl.prof.push(stamp("outer")))
number = new(acl.prof.range_start(stamp("long")))
run()
check(acl.prof.pop())
check(acl.prof.range_stop(number))
freed = stamp("freed")
acl.prof.destroy_stamp(freed)
show("freed", [acl.prof.mark(freed), acl.prof.pop()])
check(acl.prof.stop(config))
show("outside", acl.prof.create_stamp())
check(acl.prof.finalize())
"""

STEPS = """
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2 | 0x40)
check(acl.prof.start(config))
step = acl.prof.create_step_info()
check(acl.prof.get_step_timestamp(step, 0, 0))
run()
check(acl.prof.get_step_timestamp(step, 1, 0))
show("again", acl.prof.get_step_timestamp(step, 1, 0))
freed = acl.prof.create_step_info()
acl.prof.destroy_step_info(freed)
show("freed", acl.prof.get_step_timestamp(freed, 0, 0))
check(acl.prof.stop(config))
check(acl.prof.finalize())
"""

SUBSCRIPTION = """
source, sink = os.pipe()
config = acl.prof.create_subscribe_config(1, 0xFF, sink)
check(acl.prof.model_subscribe(model, config))
run()
check(getattr(acl.prof, END)(model))
check(acl.prof.destroy_subscribe_config(config))
show("freed", [acl.prof.destroy_subscribe_config(config), acl.prof.model_subscribe(model, config)])
data = b""
while piece := os.read(source, 8000):
    data += piece
size = new(acl.prof.get_op_desc_size())
whole = acl.util.bytes_to_ptr(data), len(data)
count = new(acl.prof.get_op_num(*whole))
show("count", [count, len(data) // size, size])
found = []
for index in range(count):
    place = *whole, index
    times = acl.prof.get_op_start(*place), acl.prof.get_op_end(*place)
    lengths = new(acl.prof.get_op_type_len(*place)), new(acl.prof.get_op_name_len(*place))
    if index % 2:
        names = acl.prof.get_op_type(*place, lengths[0]), acl.prof.get_op_name(*place, lengths[1])
    else:
        names = acl.prof.get_op_type_v2(*place), acl.prof.get_op_name_v2(*place)
    found.append([list(map(new, names)), lengths, times[1] - times[0], acl.prof.get_op_duration(*place),
                  acl.prof.get_model_id(*place)])
show("found", found)
show("model", model)
"""


@pytest.fixture
def run(programs):
    def start(body, config="", before="", **settings):
        text = f"CONFIG = [{config}]\n{before}{START}{body}{DONE}"
        return programs(text, environment={"DRYNPU_QUIET": "1", **settings})

    return start


def rows(run, stem, below="out"):
    (found,) = run.folder.glob(f"{below}/PROF_*/mindstudio_profiler_output/{stem}_[0-9]*.csv")
    with found.open(newline="", encoding="utf-8") as file:
        return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file)]


@pytest.mark.slow
def test_configurations(run):
    done = run(CONFIGURATIONS)
    assert done.printed("before") == [100043, 100043, 0]
    assert (done.printed("twice"), done.printed("freed"), done.printed("after")) == (100002, 100000, 100043)
    kernels = rows(done, "op_summary")
    assert [row["OP Type"] for row in kernels] == ["MatMulV2", "Relu", "MatMulV2", "SoftmaxV2"]
    assert float(kernels[0]["aic_mac_ratio"]) > 0, "the counters of PipeUtilization"
    assert list(done.folder.glob("out/PROF_*/device_0/data/hbm.data.*.slice_0"))


def test_marks_and_ranges(run):
    done = run(MARKS)
    marks = {row["message"]: row for row in rows(done, "msprof_tx")}
    kinds = {name: row["event_type"] for name, row in marks.items()}
    assert kinds == {"point": "marker", "both sides": "marker_ex", "outer": "push/pop", "long": "start/end"}
    assert marks["both sides"]["Device Start_time(us)"] != "N/A"
    ends = {name: float(row["End_time(us)"]) - float(row["Start_time(us)"]) for name, row in marks.items()}
    assert min(ends["outer"], ends["long"]) > max(ends["point"], 0) == 0
    assert done.printed("freed") == [-1, -1]
    assert done.printed("outside") == 0


def test_steps(run):
    done = run(STEPS)
    assert (done.printed("again"), done.printed("freed")) == (100000, 100000)
    trace = rows(done, "step_trace")
    assert {row["Model ID"] for row in trace} == {"1", "4294967295"}
    (step,) = (row for row in trace if row["Model ID"] == "4294967295")
    kernels = rows(done, "op_summary")
    assert float(step["Iteration Time(us)"]) >= sum(float(row["Task Duration(us)"]) for row in kernels)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["model_unsubscribe", "model_un_subscribe"])
def test_subscriptions(run, end):
    done = run(SUBSCRIPTION, before=f"END = {end!r}\n")
    assert done.printed("freed") == [100000, 100000]
    assert done.printed("count") == [4, 4, 80]
    found = done.printed("found")
    names = [["MatMulV2", "fc1"], ["Relu", "relu1"], ["MatMulV2", "fc2"], ["SoftmaxV2", "softmax"]]
    assert [each[0] for each in found] == names
    assert [each[1] for each in found] == [[len(text) + 1 for text in each] for each in names]
    assert all(between == duration > 0 for _, _, between, duration, _ in found)
    assert {each[4] for each in found} == {done.printed("model")}


WITHOUT_INIT = """
config = acl.prof.create_config([0], 0, 0, 0x3)
check(acl.prof.set_config(16, "chosen"))
show("started", acl.prof.start(config))
run()
show("stopped", acl.prof.stop(config))
"""
TWICE = """
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x3)
check(acl.prof.start(config))
show("again", acl.prof.start(config))
check(acl.prof.finalize())
"""
REFUSED = "show('init', acl.prof.init('out'))\nrun()\n"


@pytest.mark.slow
@pytest.mark.parametrize(("version", "codes"), [("9.0", (100043, 100043)), ("9.1", (0, 0))])
def test_the_release_says_whether_start_needs_init(run, version, codes):
    done = run(WITHOUT_INIT, DRYNPU_ACL_VERSION=version)
    assert (done.printed("started"), done.printed("stopped")) == codes
    assert len(list(done.folder.glob("chosen/PROF_*"))) == (codes[0] == 0)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "code"), [("documented", 100042), ("source", 0)])
def test_what_a_second_start_compares(run, rule, code):
    assert run(TWICE, DRYNPU_ACL_COMPAT=rule).printed("again") == code


ATTACHED = """
show("init", acl.prof.init("out"))
words = [sys.executable, "-m", "drynpu", "msprof", "--dynamic=on", f"--pid={os.getpid()}", "--output=attached"]
collector = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
said = ""
run()
for command in ("start", "stop", "quit"):
    collector.stdin.write(f"{command}\\n")
    collector.stdin.flush()
    while f"{command} success" not in said:
        piece = collector.stdout.read(1)
        assert piece, said
        said += piece
    run()
collector.communicate(timeout=600)
exported = subprocess.run([*words[:4], "--export=on", words[-1]], stdout=subprocess.DEVNULL)
show("ended", [collector.returncode, exported.returncode])
"""


@pytest.mark.slow
def test_a_collector_attaches_to_a_process_that_is_left_to_it(run):
    before = "import os, subprocess, sys\nos.environ['HOME'] = os.getcwd()\n"
    done = run(ATTACHED, before=before, PROFILING_MODE="dynamic", **FRESH)
    assert (done.printed("init"), done.printed("ended")) == (200006, [0, 0])
    kernels = rows(done, "op_summary", "attached")
    assert [row["OP Type"] for row in kernels] == ["MatMulV2", "Relu", "MatMulV2", "SoftmaxV2"]


def test_another_collector_has_the_process(run):
    acl_json = json.dumps({"profiler": {"switch": "on", "output": "out"}})
    before = f"open('acl.json', 'w').write({acl_json!r})\n"
    done = run(REFUSED, config="'acl.json'", before=before, PROFILER_SAMPLECONFIG="{}")
    assert done.printed("init") == 100042
    assert "PROFILER_SAMPLECONFIG" in done.stderr
    assert not list(done.folder.glob("**/PROF_*"))


@pytest.mark.slow
def test_results_without_a_directory_of_their_own_go_to_the_work_path(run):
    before = "open('acl.json', 'w').write('{\"profiler\": {\"switch\": \"on\"}}')\n"
    done = run("run()\n", config="'acl.json'", before=before, ASCEND_WORK_PATH="work")
    assert len(rows(done, "op_summary", "work/profiling_data")) == 4
