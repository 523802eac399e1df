"""A parent and a child that share tensors of the npu; the test tells which and reads the last line."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import torch
import torch.multiprocessing as mp
import torch_npu  # noqa: F401 - the device
from torch.multiprocessing.reductions import reduce_tensor


def make(kind: str) -> torch.Tensor:
    plain = torch.arange(12.0).reshape(3, 4)
    if kind == "bfloat16":
        return plain.bfloat16().npu()
    if kind == "parameter":
        return torch.nn.Linear(3, 2).npu().weight
    if kind == "buffer":
        return torch.nn.BatchNorm1d(5).npu().running_var
    if kind == "leaf":
        return plain.npu().requires_grad_()
    tensors = {"view": plain.npu()[1:, ::2], "empty": plain.npu()[:0], "scalar": torch.tensor(7.0).npu()}
    return tensors.get(kind, plain.npu())


def describe(tensor: torch.Tensor) -> list[Any]:
    return [type(tensor).__name__, str(tensor.device), tensor.stride(), tensor.requires_grad, tensor.tolist()]


def double(inbox: Any, outbox: Any) -> None:
    while (tensor := inbox.get()) is not None:
        outbox.put(json.dumps(describe(tensor)))
        with torch.no_grad():
            tensor.mul_(2)
        outbox.put("doubled")
        inbox.get()
        outbox.put(json.dumps(tensor.tolist()))
        del tensor


def child() -> tuple[Any, Any, Any]:
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=double, args=(inbox, outbox))
    process.start()
    return process, inbox, outbox


def queue(kind: str) -> dict[str, Any]:
    process, inbox, outbox = child()
    tensor = make(kind)
    shown: dict[str, Any] = {}
    for _ in range(2 if kind == "twice" else 1):
        shown["sent"] = json.loads(json.dumps(describe(tensor)))
        shown["doubled"] = (tensor * 2).tolist()
        inbox.put(tensor.clone() if kind == "dropped" else tensor)
        shown["got"] = json.loads(outbox.get())
        outbox.get()
        shown["seen_by_parent"] = shown["doubled"] if kind == "dropped" else tensor.tolist()
        with torch.no_grad():
            tensor.add_(1)
        inbox.put("written")
        shown["written_later"] = shown["doubled"] if kind == "dropped" else tensor.tolist()
        shown["seen_by_child"] = json.loads(outbox.get())
    inbox.put(None)
    process.join()
    return shown


def open_arguments(pickled: bytes, outbox: Any) -> None:
    from torch_npu.multiprocessing.reductions import rebuild_npu_tensor

    arguments = list(pickle.loads(pickled))
    arguments[6] = 0
    first, second = rebuild_npu_tensor(*arguments), rebuild_npu_tensor(*arguments)
    outbox.put((first.tolist(), first.data_ptr() == second.data_ptr()))


def arguments() -> dict[str, Any]:
    tensor = torch.tensor([3.0, 4.0], device="npu:1")
    function, sent = reduce_tensor(tensor)
    reduce_tensor(tensor)  # one handle for each time it is opened
    outbox = mp.get_context("spawn").SimpleQueue()
    process = mp.get_context("spawn").Process(target=open_arguments, args=(pickle.dumps(sent), outbox))
    process.start()
    values, same = outbox.get()
    process.join()
    return {
        "function": function.__name__,
        "arguments": len(sent),
        "device": sent[6] - 1,
        "values": values,
        "same": same,
    }


def measure(inbox: Any, outbox: Any) -> None:
    kept = inbox.get()
    outbox.put(torch.npu.memory_allocated())
    inbox.get()
    del kept


def memory() -> dict[str, Any]:
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=measure, args=(inbox, outbox))
    process.start()
    weight = torch.randn(64, 64, device="npu", requires_grad=True)
    host = weight.detach().cpu()
    loss = (weight * weight).sum()
    before = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    inbox.put(weight)
    of_the_child = outbox.get()
    allocated, peak = torch.npu.memory_allocated() - before, torch.npu.max_memory_allocated() - before
    loss.backward()
    inbox.put(None)
    process.join()
    gradient = weight.grad
    assert gradient is not None
    return {
        "allocated": allocated,
        "peak": peak,
        "values": torch.equal(weight.cpu(), host),
        "gradient": torch.equal(gradient.cpu(), host * 2),
        "of_the_child": of_the_child,
    }


def left() -> dict[str, Any]:
    before = set(Path("/dev/shm").iterdir())
    process, inbox, outbox = child()
    tensor = torch.ones(1000, device="npu")
    inbox.put(tensor)
    outbox.get(), outbox.get()
    while_shared = bool({file for file in Path("/dev/shm").iterdir() if file.name.startswith("torch_")} - before)
    inbox.put("written")
    outbox.get()
    inbox.put(None)
    process.join()
    del tensor
    names = [file.name for file in set(Path("/dev/shm").iterdir()) - before]
    return {"while_shared": while_shared, "afterwards": [name for name in names if name.startswith("torch_")]}


def late() -> dict[str, Any]:
    """Stops PyTorch's process that knows the names for longer than PyTorch waits for it."""
    reduce_tensor(torch.ones(2, device="npu"))
    (manager,) = (each for each in psutil.Process().children() if "torch_shm_manager" in each.name())
    manager.suspend()
    timer = threading.Timer(2.5, manager.resume)
    timer.start()
    sent = torch.arange(3.0, device="npu")
    function, arguments = reduce_tensor(sent)
    return {"function": function.__name__, "values": sent.tolist(), "same": function(*arguments) is not None}


def refusal(call: Any) -> str:
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "nothing"


def refused() -> dict[str, Any]:
    leaf = torch.ones(2, device="npu", requires_grad=True)
    return {
        "non_leaf": refusal(lambda: reduce_tensor(leaf * 2)),
        "storage": refusal(lambda: mp.reductions.reduce_storage(leaf.untyped_storage())),
        "event": refusal(lambda: torch.npu.Event().ipc_handle()),
        "handle": refusal(lambda: torch.npu.Event.from_ipc_handle(0, b"abc")),
    }


def wait_for(inbox: Any, outbox: Any) -> None:
    for event in (inbox.get(), torch.npu.Event.from_ipc_handle(0, inbox.get())):
        event.wait()
        event.synchronize()
        outbox.put(event.query())


def event() -> dict[str, Any]:
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=wait_for, args=(inbox, outbox))
    process.start()
    sent = torch.npu.Event(interprocess=True)
    sent.record()
    inbox.put(sent)
    inbox.put(sent.ipc_handle())
    shown = {"queue": outbox.get(), "handle": outbox.get(), "size": len(sent.ipc_handle())}
    process.join()
    return shown


def look(inbox: Any, outbox: Any) -> None:
    tensor = inbox.get()
    outbox.put((list(tensor.shape), str(tensor.device)))


def outline() -> dict[str, Any]:
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=look, args=(inbox, outbox))
    process.start()
    inbox.put(torch.randn(1024, 1024, device="npu"))
    shape, device = outbox.get()
    process.join()
    return {"shape": shape, "device": device}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
