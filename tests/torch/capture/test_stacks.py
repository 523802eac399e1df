"""Which frames are shown, and under which names they are recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import drynpu
import drynpu_torch
from drynpu_torch.capture._stacks import engine_threads, python_frames, shown_stacks

CORE, ADAPTER = (Path(str(package.__file__)).parent for package in (drynpu, drynpu_torch))
Frame = tuple[str, int, int]


def shown(frames: list[Frame]) -> list[Frame]:
    """Return what is recorded of frames given as (name, start, end)."""
    names = list(dict.fromkeys(name for name, _, _ in frames))
    columns = np.array([(names.index(name), start, end, 7) for name, start, end in frames], np.int64).T
    found = python_frames(names, name=columns[0], start_ns=columns[1], end_ns=columns[2], thread=columns[3])
    times = zip(found.name.tolist(), found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    return [(found.names[name], start, end) for name, start, end in times]


def test_what_records_is_not_shown_nor_what_it_calls_of_python() -> None:
    kept = [
        ("train.py(3): main", 0, 1000),
        # The framework's own frames below what records, with what they call.
        ("torch/autograd/profiler.py(904): __init__", 70, 90),
        ("<built-in function len>", 75, 80),
        # A patch calls the framework for the script.
        ("<built-in method to of Tensor object at 0x7f>", 310, 390),
        ("contextlib.py(299): helper", 500, 510),
        ("/home/me/drynpu/train.py(9): f", 600, 700),
    ]
    dropped = [
        (f"{CORE}/recorder/_recorder.py(110): start", 10, 200),
        ("contextlib.py(299): helper", 20, 60),
        ("<built-in function next>", 25, 30),
        (f"{ADAPTER}/profiler/_profile.py(50): stop", 720, 900),
        ("<attrs generated methods drynpu.recorder._actions.Transition>(29): __init__", 730, 790),
        ("<built-in function setattr>", 740, 741),
        (f"{ADAPTER}/device/_tensor.py(40): npu", 300, 400),
        ("cattrs/converters.py(9): structure", 391, 399),
        ("attr/_make.py(4): __init__", 393, 396),
        (f"{ADAPTER}/device/_state.py(9): drain", 800, 890),
        ("threading.py(396): notify_all", 810, 820),
    ]
    assert shown([*dropped, *kept]) == kept


def test_every_module_has_a_number_of_its_own() -> None:
    """Kineto counts in each class: the vendor's analysis takes equal numbers for one object."""
    modules = ["nn.Module: Linear_0", "nn.Module: Dropout_0", "nn.Module: Linear_1", "nn.Module: My_Block_0"]
    calls = [(name, 10 * i, 10 * i + 5) for i, name in enumerate([*modules, modules[1]])]
    names = [name for name, _, _ in shown(calls)]
    assert [name.partition("######")[0] for name in names] == ["Linear", "Dropout", "Linear", "My_Block", "Dropout"]
    objects = [name.partition("######")[2] for name in names]
    assert objects[1] == objects[4]
    assert len(set(objects)) == 4


def test_stacks_of_operators_leave_out_the_same_frames() -> None:
    frames = [f"{ADAPTER}/device/_tensor.py(40): npu", "train.py(3): main", f"{CORE}/recorder/_recorder.py(110): start"]
    assert shown_stacks([";".join(frames), "/home/me/drynpu/train.py(9): f"]) == (
        "train.py(3): main",
        "/home/me/drynpu/train.py(9): f",
    )


def test_threads_of_the_autograd_engine_run_backward_operators_of_other_threads() -> None:
    """Threads 7 and 9 do; the backward pass of 5 runs on itself, and 0 stands for an operator without a forward one."""
    thread = np.array([5, 5, 7, 7, 9, 6])
    forward = np.array([0, 5, 0, 5, 5, 0])
    assert engine_threads(thread, forward).tolist() == [7, 9]
