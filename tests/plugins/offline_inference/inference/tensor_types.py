"""Runs a model with an input of every type, from every kind of memory, and says what comes back."""

from __future__ import annotations

import json
import sys

import aclruntime
import numpy as np

TYPES = json.loads(sys.argv[1])
"""Names of NumPy's types by names of aclruntime's."""


def show(name, value):
    print(f"{name}={json.dumps(value)}")


def refusal(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def arrays(outputs):
    for each in outputs:
        each.to_host()
    return [np.array(each) for each in outputs]


def counts():
    copies = aclruntime.MemorySummary()
    return [len(copies.H2D_time_list), len(copies.D2H_time_list)]


def show_types(session):
    described = session.get_inputs()
    assert all(type(each) is aclruntime.tensor_desc for each in described + session.get_outputs())
    show("described", [[d.name, d.datatype.name, d.format, d.shape, d.size, d.realsize] for d in described])
    feeds = [np.array([[0, 1, 2], [3, 4, 100]]).astype(TYPES[each.datatype.name]) for each in described]
    tensors = [aclruntime.Tensor(each) for each in feeds]
    show(
        "same",
        [
            [each.dtype is getattr(aclruntime, name), each.dtype is getattr(aclruntime.dtype, name), int(each.dtype)]
            for name, each in zip(TYPES, tensors, strict=True)
        ],
    )
    names = [each.name for each in session.get_outputs()]
    found = [arrays(session.run(names, tensors))]
    for move in (aclruntime.Tensor.to_device, aclruntime.Tensor.to_dvpp):
        for each in tensors:
            move(each, 0)
        found.append(arrays(session.run(names, tensors)))
    show("results", [[[str(each.dtype), each.tolist()] for each in row] for row in found])


def show_memory():
    tensor = aclruntime.Tensor(np.arange(6, dtype=np.int16))
    found = []
    moves = (lambda: None, lambda: tensor.to_device(0), lambda: tensor.to_dvpp(0), lambda: tensor.to_device(0))
    for move in (*moves, tensor.to_host, lambda: tensor.to_dvpp(0), tensor.to_host):
        before = counts()
        move()
        copied = [now - then for now, then in zip(counts(), before, strict=True)]
        kinds = (aclruntime.memory_host, aclruntime.memory_device, aclruntime.memory_dvpp)
        found.append([[tensor.type is each for each in kinds], tensor.type.name, tensor.device, copied])
    show("memory", found)
    show("kinds", [int(each) for each in aclruntime.type])
    show("moved", np.array(tensor).tolist())
    pair = [aclruntime.Tensor(np.full((1, 2), each, np.int8)) for each in (5, 6)]
    for each in pair:
        each.to_dvpp(0)
    joined = [aclruntime.batch(pair), aclruntime.batch(pair, True)]
    show("batch_memory", [[each.type.name, each.device] for each in joined])
    show("batch", [each.tolist() for each in arrays(joined)])
    pair[0].to_host()
    show("apart", refusal(aclruntime.batch, pair))


def show_addresses():
    """The memory behind an address is read when the session runs, a tensor has a copy."""
    session = aclruntime.InferenceSession("one.om", 0, None)
    array = np.array([1, 2, 3], np.float32)
    base = aclruntime.BaseTensor(array.__array_interface__["data"][0], array.nbytes)
    tensor = aclruntime.Tensor(array)
    found = []
    for factor in (1, 10):
        array *= factor
        found.append([arrays(session.run(["x_copy"], [each]))[0].tolist() for each in (base, tensor)])
    show("read", found)
    show("address", [base.buf == array.ctypes.data, base.size])
    base.size = 8
    show("short", refusal(session.run, ["x_copy"], [base]))


def show_descriptions(session):
    described = aclruntime.tensor_desc()
    described.name, described.shape, described.datatype = "joined", [2, 3], aclruntime.int16
    np.array([7, -8], np.int16).tofile("first.bin")
    np.array([9], np.int16).tofile("second.bin")
    tensor = session.create_tensor_from_fileslist(described, ["first.bin", "second.bin"])
    show("joined", [tensor.dtype.name, tensor.device, *(each.tolist() for each in arrays([tensor]))])
    described.datatype = aclruntime.int8
    tensor = session.create_tensor_from_fileslist(described, ["first.bin", "second.bin"])
    show("bytes", [tensor.dtype.name, arrays([tensor])[0].tolist()])
    described.shape = [1]
    show("too_many", refusal(session.create_tensor_from_fileslist, described, ["first.bin"]))


def show_sessions():
    session = aclruntime.model("one.om", deviceId=1)
    tensor = aclruntime.Tensor(np.ones(3, np.float32))
    (output,) = session.run(["x_copy"], {"x": tensor})
    show("model", [type(session) is aclruntime.InferenceSession, output.device])
    summary = session.sumary()
    (run,) = summary.exec_time_list
    show("summary", [type(summary) is aclruntime.sumary, run[0] < run[1], aclruntime.sumary().exec_time_list])
    session.reset_sumaryinfo()
    session.options().loop = 2
    session.run(["x_copy"], [tensor])
    show("looped", [type(session.options()) is aclruntime.session_options, len(session.sumary().exec_time_list)])
    aclruntime.InferenceSession.finalize()
    show("finalized", [refusal(session.run, ["x_copy"], [tensor]), refusal(tensor.to_device, 0)])


session = aclruntime.InferenceSession("types.om", 0, aclruntime.session_options())
show_types(session)
show_memory()
show_addresses()
show_descriptions(session)
show_sessions()
