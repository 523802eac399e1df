"""Threads that use the same tensors at once: none sees another's view of them, and no value is wrong."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys, threading, torch, torch_npu
sys.setswitchinterval(1e-5)
shared = [torch.full((256, 256), float(i), device="npu") for i in range(4)]
host = [tensor.cpu() for tensor in shared]
expected = [(tensor @ tensor).sum().item() for tensor in host]
wrong = []
stop = threading.Event()

def compute(number):
    for turn in range(60):
        index = (number + turn) % 4
        if (shared[index] @ shared[index]).sum().item() != expected[index]:
            wrong.append("value")
        view = shared[index][turn % 256].clone()
        if view.device.type != "npu" or view[0].item() != float(index):
            wrong.append("view")

def look():
    while not stop.is_set():
        for tensor in shared:
            if tensor.device.type != "npu" or not tensor.is_npu or tensor.untyped_storage().device.type != "npu":
                wrong.append("device")

def differentiate():
    for turn in range(40):
        leaf = shared[1].detach().requires_grad_()
        (leaf * shared[2]).sum().backward()
        if leaf.grad.device.type != "npu" or leaf.grad[0, 0].item() != 2.0:
            wrong.append("gradient")

watcher = threading.Thread(target=look)
watcher.start()
workers = [threading.Thread(target=compute, args=(n,)) for n in range(6)]
workers += [threading.Thread(target=differentiate) for _ in range(3)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
stop.set()
watcher.join()
print(json.dumps(wrong))
"""


def test_shared_tensors_keep_their_place_and_values(run: Any) -> None:
    assert run(SCRIPT) == []


def test_memory_does_not_grow(run: Any) -> None:
    script = """
import gc, json, torch, torch_npu
layer = torch.nn.Linear(64, 64).npu()
data = torch.randn(8, 64, device="npu")
used = []
for step in range(3000):
    layer.zero_grad()
    layer(data).sum().backward()
    if step % 1000 == 500:
        gc.collect()
        used.append(torch.npu.memory_allocated())
stats = torch.npu.memory_stats()
print(json.dumps([len(set(used)), stats["allocation.all.current"] < 12, stats["segment.all.current"]]))
"""
    assert run(script) == [1, True, 1]


def test_the_interpreter_ends_after_the_backward_pass_is_let_go(run: Any) -> None:
    """
    A thread that is slow to let go of a backward pass may not be left with it when the interpreter ends.

    The thread of the device gets no time: it shares a processor with the main thread, and runs only when that is idle.
    """
    script = """
import atexit, contextvars, json, os, pathlib, sys, time, weakref, torch, torch_npu
from drynpu_torch.device import state

class Held:
    pass

def device_thread():
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return min(int(task.name) for task in tasks if (task / "comm").read_text().strip() == "pt_autograd_0")

def run_slowly():
    held = Held()
    variable.set(held)  # PyTorch lets the backward pass keep what the context has
    loss = (x * 2).sum()
    for task in (0, thread):
        os.sched_setaffinity(task, {min(processors)})
    os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    sys.setswitchinterval(1000)
    loss.backward()
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
    for task in (0, thread):
        os.sched_setaffinity(task, processors)
    variable.set(None)
    return weakref.ref(held)

def spin():
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        pass

variable = contextvars.ContextVar("variable")
processors = os.sched_getaffinity(0)
x = torch.ones(4, device="npu", requires_grad=True)
(x * 2).sum().backward()
thread = device_thread()
for _ in range(50):  # on a busy machine the main thread may lose its processor
    held = run_slowly()
    spin()
    if held() is not None:
        break
seen = [held() is not None, state().library.finish_backward(), held() is None]
atexit.register(lambda: (run_slowly(), spin()))
print(json.dumps(seen))
"""
    assert run(script) == [True, True, True]


FORKED = """
import json, os, torch, torch_npu

def in_child(*uses):
    read, write = os.pipe()
    if not os.fork():
        found = []
        for use in uses:
            try:
                found.append(use())
            except RuntimeError as error:
                found.append(str(error))
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(read, 10000))

before = in_child(lambda: (torch.arange(4.0, device="npu") * 2).tolist(), torch.npu._is_in_bad_fork)
x = torch.arange(4.0, device="npu")
uses = [lambda: x * 2, lambda: torch.ones(2).npu(), lambda: torch.npu.set_device(0), torch.npu.current_device]
after = in_child(*uses, torch.npu.synchronize, torch.npu._is_in_bad_fork, lambda: str(torch.manual_seed(3)) and 3)
print(json.dumps([before, after, (x * 2).tolist(), torch.npu._is_in_bad_fork()]))
"""


def test_a_fork_of_a_process_that_used_the_device_is_refused(run: Any) -> None:
    before, after, doubled, parent_is_refused = run(FORKED)
    assert before == [[0.0, 2.0, 4.0, 6.0], False]
    *refused, known, seeded = after
    text = "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn'"
    assert len(refused) == 5
    assert all(message.startswith(text) for message in refused), refused
    assert known is True
    assert seeded == 3, "a seed is for all devices, and no use of them"
    assert doubled == [0.0, 2.0, 4.0, 6.0]
    assert not parent_is_refused
