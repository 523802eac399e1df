"""``import acl`` as a program sees it: the module's shape, a whole inference, and everything in the wrong order."""

from __future__ import annotations

import pytest

SHAPE = """
import json, sys, types
import acl
parts = ["rt", "mdl", "media", "op", "blas", "util", "himpi", "fv"]
print("parts=" + json.dumps([p for p in parts if sys.modules["acl." + p] is getattr(acl, p)]))
odd = [
    f"{module.__name__}.{name}"
    for module in [acl, *(getattr(acl, p) for p in parts)]
    for name, value in vars(module).items()
    if not name.startswith("_") and name != "annotations"
    and not isinstance(value, (types.FunctionType, types.ModuleType))
]
print("odd=" + json.dumps(odd))
print("constants=" + json.dumps(hasattr(acl, "ACL_SUCCESS") or hasattr(acl.rt, "ACL_MEMCPY_HOST_TO_DEVICE")))
print("names=" + json.dumps([acl.rt.malloc.__name__, acl.rt.malloc.__module__]))
texts = []
for call in (lambda: acl.rt.malloc(size=1, policy=0), lambda: acl.rt.malloc(1), lambda: acl.rt.set_device("0"),
             lambda: acl.mdl.load_from_file(b"x.om"), lambda: acl.init(1)):
    try:
        call()
    except TypeError as error:
        texts.append(str(error))
print("texts=" + json.dumps(texts))
"""


def test_the_module_is_shaped_as_the_vendors(programs):
    run = programs(SHAPE)
    assert run.printed("parts") == ["rt", "mdl", "media", "op", "blas", "util", "himpi", "fv"]
    assert run.printed("odd") == []
    assert run.printed("constants") is False
    assert run.printed("names") == ["malloc", "acl.rt"]
    assert run.printed("texts") == [
        "acl.rt.malloc() takes no keyword arguments",
        "acl.rt.malloc args parse failed",
        "acl.rt.set_device args parse failed",
        "acl.mdl.load_from_file args parse failed!",
        "acl.init args parse failed",
    ]


ABSENT = """
import json
import acl

texts = []
for call in (lambda: acl.media.vdec_create_channel(0), lambda: acl.op.set_model_dir("."), lambda: acl.rt.no_such()):
    try:
        call()
    except AttributeError as error:
        texts.append(str(error))
print("texts=" + json.dumps(texts))
print("has=" + json.dumps([hasattr(acl.media, "dvpp_malloc"), hasattr(acl.blas, "__path__")]))
"""


def test_what_is_not_simulated_says_so_where_it_is_called(programs):
    run = programs(ABSENT)
    reason = "drynpu does not simulate {} (docs/pyacl.md)"
    assert run.printed("texts") == [
        "module 'acl.media' has no attribute 'vdec_create_channel': "
        + reason.format("video, histograms and image pyramids"),
        "module 'acl.op' has no attribute 'set_model_dir': " + reason.format("single operators"),
        "module 'acl.rt' has no attribute 'no_such'",
    ]
    assert run.printed("has") == [True, False]


INFERENCE = """
import json
import numpy as np
import acl

H2D, D2H = 1, 2

def check(ret):
    assert ret == 0, (ret, acl.get_recent_err_msg())

check(acl.init())
check(acl.rt.set_device(0))
context, ret = acl.rt.create_context(0)
check(ret)
stream, ret = acl.rt.create_stream()
check(ret)
print("mode=" + json.dumps(acl.rt.get_run_mode()))
print("soc=" + json.dumps(acl.get_soc_name()))
print("version=" + json.dumps(acl.get_version()))
free, total, ret = acl.rt.get_mem_info(1)
check(ret)
model_id, ret = acl.mdl.load_from_file("mlp.om")
check(ret)
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model_id))

def dataset(count, size_of):
    made, pointers = acl.mdl.create_dataset(), []
    for i in range(count):
        size = size_of(desc, i)
        pointer, ret = acl.rt.malloc(size, 0)
        check(ret)
        buffer = acl.create_data_buffer(pointer, size)
        _, ret = acl.mdl.add_dataset_buffer(made, buffer)
        check(ret)
        pointers.append((pointer, size, buffer))
    return made, pointers

inputs, given = dataset(acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index)
outputs, made = dataset(acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)
x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
data = x.tobytes()
check(acl.rt.memcpy(given[0][0], given[0][1], acl.util.bytes_to_ptr(data), len(data), H2D))
start, ret = acl.rt.create_event()
end, ret = acl.rt.create_event()
check(acl.rt.record_event(start, stream))
check(acl.mdl.execute_async(model_id, inputs, outputs, stream))
check(acl.rt.record_event(end, stream))
check(acl.rt.synchronize_stream(stream))
elapsed_ms, ret = acl.rt.event_elapsed_time(start, end)
check(ret)
assert elapsed_ms > 0
host, ret = acl.rt.malloc_host(made[0][1])
check(ret)
check(acl.rt.memcpy(host, made[0][1], made[0][0], made[0][1], D2H))
y = np.frombuffer(acl.util.ptr_to_bytes(host, made[0][1]), np.float32).reshape(4, 8)
print("sums=" + json.dumps(y.sum(1).tolist()))
print("used=" + json.dumps(total - acl.rt.get_mem_info(1)[0]))
print("free=" + json.dumps(free == total))
for pointer, size, buffer in given + made:
    check(acl.destroy_data_buffer(buffer))
    check(acl.rt.free(pointer))
for one in (inputs, outputs):
    check(acl.mdl.destroy_dataset(one))
check(acl.rt.free_host(host))
check(acl.mdl.destroy_desc(desc))
check(acl.mdl.unload(model_id))
check(acl.rt.destroy_event(start))
check(acl.rt.destroy_stream(stream))
check(acl.rt.destroy_context(context))
check(acl.rt.reset_device(0))
check(acl.finalize())
"""


def test_a_whole_inference(programs):
    run = programs(INFERENCE)
    assert run.printed("sums") == pytest.approx([1, 1, 1, 1], abs=1e-5)
    assert run.printed("mode") == [1, 0]
    assert run.printed("soc") == "Ascend910B2"
    assert run.printed("version") == [1, 16, 0, 0]
    assert run.printed("used") == 4 * 16 * 4 + 4 * 8 * 4
    assert run.printed("free") is True


ORDER = """
import json
import acl

def codes():
    found = {}
    for module, name, arguments in CALLS:
        answer = getattr(getattr(acl, module), name)(*arguments)
        found[f"{module}.{name}"] = answer if isinstance(answer, int) else answer[-1]
    return found

CALLS = [
    ("rt", "set_device", (0,)), ("rt", "reset_device", (0,)), ("rt", "get_device", ()), ("rt", "get_device_count", ()),
    ("rt", "get_run_mode", ()), ("rt", "create_context", (0,)), ("rt", "set_context", (1,)),
    ("rt", "get_context", (5,)),
    ("rt", "create_stream", ()), ("rt", "destroy_stream", (1,)), ("rt", "synchronize_stream", (0,)),
    ("rt", "synchronize_device", ()), ("rt", "create_event", ()), ("rt", "record_event", (1, 0)),
    ("rt", "malloc", (8, 0)), ("rt", "malloc_host", (8,)), ("rt", "free", (8,)), ("rt", "memset", (8, 8, 0, 8)),
    ("rt", "memcpy", (8, 8, 8, 8, 0)), ("rt", "get_mem_info", (1,)), ("rt", "process_report", (1,)),
    ("mdl", "load_from_file", ("mlp.om",)), ("mdl", "load_from_mem", (8, 8)), ("mdl", "unload", (1,)),
    ("mdl", "query_size", ("mlp.om",)), ("mdl", "execute", (1, 1, 1)), ("mdl", "execute_async", (1, 1, 1, 0)),
    ("mdl", "get_desc", (1, 1)),
]
asked_first = [acl.rt.get_device_count(), acl.get_soc_name()]
before = codes()
end_first = acl.finalize()
begun = [acl.init(), acl.init()]
import os
settings = dict(os.environ)
os.environ["DRYNPU_DEVICES"] = "3"
print("kept=" + json.dumps(acl.rt.get_device_count()))
os.environ.clear(), os.environ.update(settings)
assert {type(code) for code in begun} == {int}
print("ends=" + json.dumps([end_first, begun, acl.finalize(), acl.finalize()]))
print("outside=" + json.dumps([before, codes()]))
print("asked=" + json.dumps([asked_first, [acl.rt.get_device_count(), acl.get_soc_name()]]))
"""


def test_outside_of_init_and_finalize_everything_says_so(programs):
    run = programs(ORDER)
    assert run.printed("ends") == [100001, [0, 100002], 0, 100037]
    assert run.printed("asked") == [[[8, 0], "Ascend910B2"]] * 2
    assert run.printed("kept") == [8, 0]
    for codes in run.printed("outside"):
        assert len(codes) == 28
        # The vendor's samples ask for the mode while they are imported, Ray for the number of devices.
        assert codes.pop("rt.get_run_mode") == codes.pop("rt.get_device_count") == 0
        assert set(codes.values()) == {100001}


NOISE = """
import random, types
import acl

random.seed(int(__import__("sys").argv[1]))
acl.init()
acl.rt.set_device(0)
model_id, _ = acl.mdl.load_from_file("dynamic.onnx")
kept = [0, 1, -1, 2**31, 2**63, 2**64, 140000000000000, 8, "x", "mlp.om", b"bytes" * 9, None, 1.5, [], (2, 2), model_id]
skipped = {"init", "finalize", "finalize_reference", "start_thread", "launch_callback"}
modules = [acl, acl.rt, acl.mdl, acl.util]
found = {n: f for m in modules for n, f in vars(m).items() if isinstance(f, types.FunctionType) and n[0] != "_"}
calls = [f for n, f in found.items() if n not in skipped]
assert len(calls) > 80
answers = 0
for _ in range(6000):
    function = random.choice(calls)
    if function.__name__ in ("process_report", "synchronize_stream_with_timeout"):
        continue
    arguments = [random.choice(kept[-60:]) for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4, 5]))]
    if function.__name__.startswith("malloc") and arguments and isinstance(arguments[0], int):
        arguments[0] = arguments[0] % 4096
    try:
        answer = function(*arguments)
    except (TypeError, ValueError, Warning):
        continue
    answers += 1
    if function.__name__.startswith(("create", "malloc", "bytes_to")):
        kept.append(answer if isinstance(answer, int) else answer[0])
print(answers)
assert answers > 1000
assert acl.finalize() == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_sequence_of_calls_ends_the_interpreter(programs, seed):
    programs(NOISE, seed)


UTILITIES = """
import json, threading, time, warnings
import numpy as np
import acl

acl.init()
acl.rt.set_device(0)
context, _ = acl.rt.get_context()
said = []
def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    said.extend(str(w.message) for w in caught)
    return value
array = np.arange(6, dtype=np.float32)
pointer = told(lambda: acl.util.numpy_to_ptr(array))
view = told(lambda: acl.util.ptr_to_numpy(pointer, (2, 3), 11))
view[0, 0] = 7
print("shared=" + json.dumps(float(array[0])))
turned = np.arange(6, dtype=np.int32).reshape(2, 3).T
contiguous, kept = told(lambda: acl.util.numpy_contiguous_to_ptr(turned))
told(lambda: acl.util.numpy_to_ptr(turned[::2]))
print("turned=" + json.dumps(np.frombuffer(acl.util.ptr_to_bytes(contiguous, 24), np.int32).tolist()))
print("said=" + json.dumps(said))
refused = []
for call in (lambda: acl.util.bytes_to_ptr("text"), lambda: acl.util.numpy_contiguous_to_ptr(b""),
             lambda: acl.util.ptr_to_numpy(pointer, [6], 11), lambda: acl.util.ptr_to_numpy(pointer, (6.0,), 11),
             lambda: acl.util.start_thread(None, []), lambda: acl.rt.launch_callback(None, [], 0, 0),
             lambda: acl.util.ptr_to_bytes(12345, 8), lambda: acl.util.ptr_to_bytes(pointer, 25)):
    try:
        told(call)
    except (TypeError, ValueError) as error:
        refused.append(type(error).__name__ + ": " + str(error))
print("refused=" + json.dumps([refused[:6], len(refused)]))

seen = []
def work(arguments):
    number, ctx = arguments
    assert acl.rt.set_context(ctx) == 0
    seen.append((number, acl.rt.get_context()[0] == ctx))
thread, ret = acl.util.start_thread(lambda: seen.append("none"), None)
acl.util.stop_thread(thread)
thread, ret = acl.util.start_thread(seen.append, "whatever")
acl.util.stop_thread(thread)
thread, ret = acl.util.start_thread(work, [3, context])
print("thread=" + json.dumps([thread != 0, ret, acl.util.stop_thread(thread), seen, acl.util.stop_thread(thread)]))
many = [acl.util.start_thread(seen.append, [n])[0] for n in range(30)]
print("distinct=" + json.dumps([len(set(many)), {acl.util.stop_thread(t) for t in many} == {0}]))
def broken(arguments):
    raise KeyError(arguments[0])
thread, ret = acl.util.start_thread(broken, ["gone"])
try:
    acl.util.stop_thread(thread)
except RuntimeError as error:
    print("raised=" + json.dumps(str(error)))
print("missing=" + json.dumps(acl.mdl.load_from_file("none.om")))
"""


def test_utilities(programs):
    run = programs(UTILITIES)
    assert run.printed("shared") == 7
    assert run.printed("said") == [
        "acl.util.numpy_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead.",
        "acl.util.ptr_to_numpy will be deprecated. Please use acl.util.ptr_to_bytes instead.",
        "acl.util.numpy_contiguous_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead.",
        "acl.util.numpy_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead.",
        "The input ndarray is discontiguous. Please use acl.util.bytes_to_ptr instead.",
    ]
    assert run.printed("turned") == [0, 3, 1, 4, 2, 5]
    texts, count = run.printed("refused")
    assert texts == [
        "ValueError: needs an byte as argument",
        "ValueError: needs an ndarray as argument",
        "ValueError: shape is empty",
        "TypeError: the second argument is not list of int",
        "TypeError: parameter must be callable",
        "TypeError: parameter must be callable",
    ]
    assert count == 8
    assert run.printed("thread") == [True, 0, 0, ["none", "whatever", [3, True]], 100000]
    assert run.printed("distinct") == [30, True], "also of threads that have returned"
    assert run.printed("raised").startswith("exception=KeyError,msg=thread call failed;")
    assert "KeyError: 'gone'" in run.printed("raised")
    assert run.printed("missing") == [0, 100003]
    assert "KeyError: 'gone'" in run.stderr, "shown as soon as it was raised"
    assert run.stderr.splitlines()[-1] == "[drynpu] acl: no model file none.om"
