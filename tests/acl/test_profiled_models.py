"""Models on streams and threads, and what their profile shows of them."""

from __future__ import annotations

import csv
import json
from decimal import Decimal

import numpy as np
import pytest
from tests.scripts import FRESH

PROGRAM = """
import json, threading
import numpy as np
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

def dataset(*sizes):
    made, pointers = acl.mdl.create_dataset(), []
    for size in sizes:
        pointer, ret = acl.rt.malloc(size, 0)
        check(ret)
        check(acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size)))
        pointers.append(pointer)
    return made, pointers

def copy_in(pointer, array):
    data = array.tobytes()
    check(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), 1))

def copy_out(pointer, shape):
    data = bytes(4 * int(np.prod(shape)))
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), len(data), pointer, len(data), 2))
    return np.frombuffer(data, np.float32).reshape(shape)

check(acl.init())
check(acl.rt.set_device(0))
context, _ = acl.rt.get_context()
net, ret = acl.mdl.load_from_file("conv.onnx")
check(ret)
mlp, ret = acl.mdl.load_from_file("mlp.om")
check(ret)
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 1, 0, 0x1 | 0x2 | 0x4 | 0x200 | 0x1000)
check(acl.prof.start(config))
image = np.arange(768, dtype=np.float32).reshape(1, 3, 16, 16) / 768
x = np.arange(64, dtype=np.float32).reshape(4, 16) / 64
stream, ret = acl.rt.create_stream()
check(ret)
(given, (source,)), (made, (result,)) = dataset(image.nbytes), dataset(40)
copy_in(source, image)
check(acl.mdl.execute_async(net, given, made, stream))
check(acl.rt.synchronize_stream(stream))
print("scores=" + json.dumps(copy_out(result, (1, 10)).tolist()))

def work(arguments):
    check(acl.rt.set_context(context))
    (given, (source,)), (made, (result,)) = dataset(x.nbytes), dataset(128)
    copy_in(source, x)
    for _ in range(3):
        check(acl.mdl.execute(mlp, given, made))
    arguments.append(copy_out(result, (4, 8)).tolist())

results = [[], []]
def images(arguments):
    check(acl.rt.set_context(context))
    (given, _), (made, _) = dataset(image.nbytes), dataset(40)
    for _ in range(arguments[0]):
        check(acl.mdl.execute(net, given, made))

threads = [acl.util.start_thread(work, own)[0] for own in results] + [acl.util.start_thread(images, [3])[0]]
for thread in threads:
    check(acl.util.stop_thread(thread))
print("results=" + json.dumps([own[0] for own in results]))
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.finalize())
"""


@pytest.fixture(scope="module")
def run(programs):
    return programs(PROGRAM, environment={"DRYNPU_QUIET": "1"})


def rows(run, stem):
    (path,) = run.folder.glob(f"out/PROF_*/mindstudio_profiler_output/{stem}_*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return [{name: text.rstrip("\t") for name, text in row.items()} for row in csv.DictReader(stream)]


def test_results_are_those_of_the_evaluator(run, models):
    from onnx.reference import ReferenceEvaluator

    image = np.arange(768, dtype=np.float32).reshape(1, 3, 16, 16) / 768
    x = np.arange(64, dtype=np.float32).reshape(4, 16) / 64
    (scores,) = ReferenceEvaluator(models.conv_net()).run(None, {"image": image})
    (chances,) = ReferenceEvaluator(models.mlp()).run(None, {"x": x})
    assert np.array_equal(np.array(run.printed("scores"), np.float32), scores)
    for result in run.printed("results"):
        assert np.array_equal(np.array(result, np.float32), chances)


def test_every_run_has_its_kernels(run):
    found = rows(run, "op_summary")
    net = [(row["Op Name"], row["OP Type"]) for row in found if row["Model ID"] == "1"]
    assert (
        net
        == [
            ("trans_TransData_0", "TransData"),
            ("conv1relu1", "Conv2D"),
            ("pool1", "MaxPool"),
            ("conv2", "Conv2D"),
            ("shortcut", "Add"),
            ("sigmoid", "Sigmoid"),
            ("gap", "ReduceMeanD"),
            ("trans_TransData_1", "TransData"),
            ("fc", "MatMulV2"),
        ]
        * 4
    ), "also where another model ran at the same time"
    mlp = [row["Op Name"] for row in found if row["Model ID"] == "2"]
    assert sorted(mlp) == sorted(["fc1", "relu1", "fc2", "softmax"] * 6)
    assert len({row["Stream ID"] for row in found}) == 2
    conv = next(row for row in found if row["Op Name"] == "conv2")
    assert json.loads(conv["Input Shapes"]) == "1,1,8,8,8;9,1,16,8;8"
    assert (conv["Input Formats"], conv["Task Type"]) == ("NC1HWC0;FRACTAL_Z;ND", "AI_CORE")


def test_what_became_one_operator_is_listed(run):
    found = {row["Fusion Op"]: row["Original Ops"] for row in rows(run, "fusion_op")}
    assert found == {"conv1relu1": "conv1;bn1;relu1", "fc": "fc;fc_bias"}


def test_the_memory_that_models_plan_is_listed(run):
    found = {(row["Graph ID"], row["Op Name"]): float(row["Size(KB)"]) for row in rows(run, "static_op_mem")}
    assert found["1", "gap"] == 8 * 4 / 1024
    assert found["2", "TOTAL"] == 4 * (32 + 32) * 4 / 1024, "what fc1 makes and what relu1 makes of it"


def test_what_is_asked_and_not_simulated_is_told(run):
    assert "GE_API" in run.stderr


def test_calls_are_counted_under_their_c_names(run):
    counts = {row["API Name"]: int(row["Count"]) for row in rows(run, "api_statistic") if row["Level"] == "acl"}
    assert (counts["aclmdlExecute"], counts["aclmdlExecuteAsync"], counts["aclrtMemcpy"]) == (9, 1, 6)
    assert counts["aclrtSynchronizeStream"] == 1


ORDER = """
import csv, glob, json, sys
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

check(acl.init())
check(acl.rt.set_device(0))
model, ret = acl.mdl.load_from_file("large.onnx")
check(ret)

def dataset(size):
    made = acl.mdl.create_dataset()
    pointer, ret = acl.rt.malloc(size, 0)
    check(ret)
    check(acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size)))
    return made

sets = [(dataset(4 * 512 * 2048), dataset(4 * 512 * 64)) for _ in range(2)]
(first, _), (second, _), (event, _) = acl.rt.create_stream(), acl.rt.create_stream(), acl.rt.create_event()
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2)
check(acl.prof.start(config))
check(acl.mdl.execute_async(model, *sets[0], first))
check(acl.rt.record_event(event, first))
if sys.argv[1] == "wait":
    check(acl.rt.stream_wait_event(second, event))
check(acl.mdl.execute_async(model, *sets[1], second))
if sys.argv[1] == "synchronize":
    check(acl.rt.synchronize_stream(first))
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.finalize())
"""


@pytest.fixture(scope="module")
def spans(programs, models):
    """Return when the work of each stream began and ended, in microseconds."""

    def of(order):
        folder = programs.folder()
        models.save(models.mlp(512, (2048, 2048, 64)), folder / "large.onnx")
        # A slow chip, so that kernels last longer than a busy machine holds the program up.
        run = programs(
            ORDER, order, folder=folder, environment={"DRYNPU_QUIET": "1", "DRYNPU_CHIP": "Ascend310", **FRESH}
        )
        found: dict[str, list[tuple[Decimal, Decimal]]] = {}
        for row in rows(run, "op_summary"):
            # A float holds such times to a quarter of a microsecond alone.
            start_us = Decimal(row["Task Start Time(us)"].strip())
            end_us = start_us + Decimal(row["Task Duration(us)"].strip())
            found.setdefault(row["Stream ID"], []).append((start_us, end_us))
        return [(min(start for start, _ in found[name]), max(end for _, end in found[name])) for name in sorted(found)]

    return of


@pytest.mark.slow
def test_streams_overlap_unless_one_waits_for_an_event_of_the_other(spans):
    (_, first_end), (second_start, _) = spans("overlap")
    assert second_start < first_end
    (_, first_end), (second_start, _) = spans("wait")
    assert second_start >= first_end


CLOSED = """
import acl

acl.init()
acl.rt.set_device(0)
acl.prof.init("out")
config = acl.prof.create_config([0], 0, 0, 0x2)
acl.prof.start(config)
print("sizes=" + str(list(acl.mdl.query_size("mlp.om"))))
model, ret = acl.mdl.load_from_file("mlp.om")
assert ret == 0, acl.get_recent_err_msg()
(source, _), (result, _) = acl.rt.malloc(256, 0), acl.rt.malloc(128, 0)
sets = [acl.mdl.create_dataset(), acl.mdl.create_dataset()]
for made, pointer, size in zip(sets, (source, result), (256, 128)):
    assert acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))[1] == 0
assert acl.rt.memset(source, 256, 0, 256) == 0
assert acl.mdl.execute(model, *sets) == 0
acl.prof.stop(config)
acl.prof.finalize()
acl.finalize()
"""


def test_an_offline_model_that_cannot_be_read_gives_way_to_the_onnx_file_beside_it(programs, models):
    folder = programs.folder()
    models.save(models.mlp(), folder / "mlp.onnx")
    (folder / "mlp.om").write_bytes(b"IMOD" + bytes(3000))
    done = programs(CLOSED, folder=folder, environment={"DRYNPU_QUIET": "1"})
    assert done.printed("sizes") == [4 * (32 + 32 + 8) * 4, 4 * (16 * 32 + 32 + 32 * 8 + 8), 0]
    assert [row["Op Name"] for row in rows(done, "op_summary")] == ["fc1", "relu1", "fc2", "softmax"]
    lines = [line for line in done.stderr.splitlines() if "mlp.o" in line]
    assert lines == [
        "[drynpu] acl: mlp.om cannot be read (only the vendor's tools open it): mlp.onnx beside it is used"
    ]


RACES = """
import random, sys, threading
import acl

acl.init()
acl.rt.set_device(0)
context, _ = acl.rt.get_context()
shared = [acl.rt.malloc(1 << 16, 0)[0] for _ in range(8)]
sys.setswitchinterval(1e-5)

def work(seed):
    own = random.Random(seed)
    acl.rt.set_context(context)
    for _ in range(1500):
        place = own.randrange(8)
        choice = own.random()
        if choice < 0.2:
            acl.rt.free(shared[place])
            shared[place] = acl.rt.malloc(1 << 16, 0)[0]
        elif choice < 0.6:
            assert acl.rt.memcpy(shared[place], 1 << 16, shared[own.randrange(8)], 1 << 16, 3) in (0, 107000)
        elif choice < 0.8:
            acl.rt.memset(shared[place], 1 << 16, 1, 1 << 16)
        else:
            acl.util.bytes_to_ptr(bytes(own.randrange(2, 5000)))

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert acl.finalize() == 0
"""


def test_threads_that_free_what_others_copy_get_codes(programs):
    programs(RACES)
