"""Threads that use the same tensors at once: none sees another's view of them, and no value is wrong."""

from __future__ import annotations

from typing import Any

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


def test_a_forked_process_has_its_tensors(run: Any) -> None:
    script = """
import json, os, torch, torch_npu
x = torch.arange(4.0, device="npu")
read, write = os.pipe()
if not os.fork():
    os.write(write, json.dumps([str(x.device), (x * 2).tolist()]).encode())
    os._exit(0)
os.wait()
print(os.read(read, 1000).decode())
"""
    assert run(script) == ["npu:0", [0.0, 2.0, 4.0, 6.0]]
