"""Python frames of every thread that runs the script's code, without drynpu's, as PyTorch's own profiler has them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import asyncio, cProfile, json, queue, sys, threading
import torch
import torch_npu
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
on_npu = torch.nn.Linear(8, 8).to("npu")


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value * 2

    @staticmethod
    def backward(ctx, gradient):
        print("in the backward pass")
        return of_backward(gradient)


def of_backward(gradient):
    return gradient * 2


def of_hook(gradient):
    return of_backward(gradient)


def recomputed(value):
    return on_npu(value).relu()


def backward_pass():
    value = checkpoint(recomputed, torch.ones(4, 8, device="npu", requires_grad=True), use_reentrant=False)
    value = Doubled.apply(value)
    value.register_hook(of_hook)
    value.sum().backward()


def numbers():
    yield 1
    yield from (number for number in (2, 3))


async def waiting(number):
    await asyncio.sleep(0)
    return number


async def together():
    return await asyncio.gather(waiting(1), waiting(2))


def fails(depth):
    if depth == 0:
        raise ValueError(len("deep"))
    fails(depth - 1)


def caught():
    try:
        fails(3)
    except ValueError:
        return int("7")


def deep(depth):
    return max(depth, 0) if depth == 0 else deep(depth - 1)


def work():
    net(torch.ones(2, 8))
    list(numbers())
    caught()
    deep(500)
    torch.stack([torch.ones(2), torch.ones(2)]).sum()


def in_thread():
    torch.ones(3, device="npu").exp()
    work()


jobs = queue.Queue()


def earlier():
    while jobs.get():
        in_thread()
        jobs.task_done()


def record(folder, *steps, **options):
    handler = torch_npu.profiler.tensorboard_trace_handler(folder)
    with torch_npu.profiler.profile(on_trace_ready=handler, **options) as prof:
        for step in steps:
            step()
            prof.step()


def threads():
    jobs.put(True)
    jobs.join()
    thread = threading.Thread(target=in_thread, name="later")
    thread.start()
    thread.join()


def load():
    for batch in DataLoader(torch.ones(8, 4), batch_size=4, num_workers=1, pin_memory=True, pin_memory_device="npu"):
        batch.sum()


def profiled_by_the_script():
    profile = cProfile.Profile()
    profile.enable()
    caught()
    profile.disable()
    counted.append(any(entry.code.co_name == "fails" for entry in profile.getstats() if hasattr(entry.code, "co_name")))


import torch._dynamo  # which checkpoint() and DTensor import: a million frames that the files need not hold

checkpoint(recomputed, torch.ones(4, 8, device="npu"), use_reentrant=False)
counted, events = [], []
before = threading.Thread(target=earlier, daemon=True)
before.start()
kinds = {"": dict(with_stack=True)}
if sys.argv[1:] == ["native"]:
    kinds["-all"] = dict.fromkeys(("with_stack", "with_modules", "record_shapes", "profile_memory"), True)
for suffix, options in kinds.items():
    record(f"fresh{suffix}", backward_pass, backward_pass, **options)
    record(f"threads{suffix}", backward_pass, threads, load, lambda: asyncio.run(together()), **options)
    record(f"same{suffix}", work, **options)
record("modules", work, with_modules=True, with_stack=False)
record("beside", profiled_by_the_script, work, with_stack=True)
sys.setprofile(lambda frame, event, argument: events.append(event))
record("profiled", work, with_stack=True)
still = sys.getprofile() is not None
sys.setprofile(None)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as prof:
    work()
prof.export_chrome_trace("plain.json")
jobs.put(False)
print(json.dumps({"counted": counted, "events": len(events), "still": still, "main": threading.get_native_id()}))
"""
ROOT = str(Path(__file__).parents[3])
"""What is below it may be called drynpu without being ours: the folder of a checkout."""
OURS = re.compile(r"drynpu|/attrs?/|\battrs? generated|cattrs|pluggy")
VARYING = re.compile(r" at 0x[0-9a-f]+|\(\d+\)(?=: )")
"""Addresses, and lines: Kineto names where a generator goes on, drynpu where it is defined."""


@pytest.fixture(scope="module")
def run(scripts: Any, native: bool) -> Any:
    return scripts(SCRIPT, *(["native"] if native else []), environment={"DRYNPU_QUIET": "1"})


@pytest.fixture(params=["", "-all"])
def suffix(request: Any, native: bool) -> str:
    """Return the end of names of recordings: with stacks alone, or with all options, beside PyTorch's profiler."""
    if request.param and not native:
        pytest.skip("without the recorder PyTorch's profiler records alone")
    return str(request.param)


@pytest.fixture(scope="module")
def said(run: Any) -> dict[str, Any]:
    return json.loads(next(line for line in run.stdout.splitlines() if line.startswith('{"counted"')))


def calls(trace: list[dict[str, Any]]) -> dict[int, list[tuple[int, str]]]:
    """Return for each thread its frames in the order of calls: depth, and name without what varies."""
    rows = defaultdict(list)
    for event in trace:
        if event.get("cat") == "python_function":
            start, length = (int(Decimal(str(event[key])) * 1000) for key in ("ts", "dur"))
            rows[event["tid"]].append((start, -length, event["args"]["Python id"], event["name"]))
    nested = {}
    for thread, frames in rows.items():
        open_until: list[int] = []
        nested[thread] = []
        for start, length, _, name in sorted(frames):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            nested[thread].append((len(open_until), VARYING.sub("", name)))
            open_until.append(start - length)
    return nested


def inside(frames: list[tuple[int, str]], function: str, file: str = "") -> list[tuple[int, str]]:
    """Return the first call of a function of the script with all that is called in it, as depths below it."""
    first = next(row for row, (_, name) in enumerate(frames) if name.endswith(f"{file}: {function}"))
    level = frames[first][0]
    end = next((row for row in range(first + 1, len(frames)) if frames[row][0] <= level), len(frames))
    return [(depth - level, name) for depth, name in frames[first:end]]


def path_of(frames: list[tuple[int, str]], function: str) -> list[str]:
    """Return the functions around the first call of one, and that."""
    path: list[str] = []
    for depth, name in frames:
        path[depth:] = [name.rpartition(": ")[2]]
        if path[-1] == function:
            return path
    return []


def test_frames_of_the_main_thread_are_those_of_pytorchs_profiler(run: Any, said: Any, suffix: str) -> None:
    plain = json.loads((run.folder / "plain.json").read_text(encoding="utf-8"))["traceEvents"]
    expected = inside(calls(plain)[said["main"]], "work")
    assert inside(calls(run.output(f"same{suffix}").trace)[said["main"]], "work") == expected
    assert max(depth for depth, _ in expected) > 500
    names = {name for _, name in expected}
    assert {"<built-in function len>", "nn.Module: Linear_1"} <= names


def test_modules_have_the_same_frames(run: Any, said: Any) -> None:
    main = said["main"]
    frames = (calls(run.output(name).trace)[main] for name in ("modules", "same"))
    assert inside(next(frames), "work") == inside(next(frames), "work")
    assert {row["Call Stack"] for row in run.output("modules").rows("operator_details.csv")} == {""}


@pytest.mark.parametrize("name", ["fresh", "threads"])
def test_the_backward_pass_shows_what_the_script_does_in_it(
    run: Any, said: Any, name: str, suffix: str, native: bool
) -> None:
    threads = calls(run.output(f"{name}{suffix}").trace)
    engine = [frames for thread, frames in threads.items() if thread != said["main"] and path_of(frames, "of_hook")]
    shown = engine[0] if native else threads[said["main"]]
    assert path_of(shown, "of_hook")[-1] == "of_hook"
    assert path_of(shown, "recomputed"), "the checkpoint computes again"
    nested = inside(shown, "backward", "script.py")
    assert "<built-in function print>" in {frame for _, frame in nested}
    assert path_of(nested, "of_backward") == ["backward", "of_backward"]


def test_operators_that_hooks_call_have_the_hooks_stack(run: Any, suffix: str, native: bool) -> None:
    stacks = [row["Call Stack"].split(";\r\n") for row in run.output(f"fresh{suffix}").rows("operator_details.csv")]
    functions = [[frame.rpartition(": ")[2] for frame in stack] for stack in stacks]
    assert any(each[:2] == ["of_backward", "of_hook"] for each in functions)
    if native:
        assert [""] in functions, "what the engine itself runs has none"


def test_threads_of_the_script_and_of_loaders_are_whole(run: Any, said: Any, suffix: str, native: bool) -> None:
    if not native:
        pytest.skip("PyTorch's tracer takes the frames of the recording thread alone")
    threads = calls(run.output(f"threads{suffix}").trace)
    main = threads.pop(said["main"])
    for around in ("earlier", "run"):
        frames = next(each for each in threads.values() if path_of(each, "in_thread")[-2:-1] == [around])
        assert inside(frames, "work") == inside(calls(run.output("same").trace)[said["main"]], "work")
    assert any(path_of(each, "_pin_memory_loop") for each in threads.values())
    assert [name.rpartition(": ")[2] for _, name in main].count("waiting") == 4, "each is entered twice"


def test_no_frame_is_drynpus(run: Any, suffix: str) -> None:
    recordings = [f"{name}{suffix}" for name in ("fresh", "threads", "same")]
    for name in (*recordings, "modules", "beside", "profiled"):
        output = run.output(name)
        shown = {name for frames in calls(output.trace).values() for _, name in frames}
        stacks = {frame for row in output.rows("operator_details.csv") for frame in row["Call Stack"].split(";\r\n")}
        assert not [text for text in shown | stacks if OURS.search(text.replace(str(run.folder), "").replace(ROOT, ""))]


def test_profilers_of_the_script_go_on(run: Any, said: Any, native: bool) -> None:
    assert said["counted"] == [True]
    main = calls(run.output("beside").trace)[said["main"]]
    assert path_of(main, "work")[-1] == "work", "recorded again from the next step on"
    if native:
        assert said["still"]
        assert said["events"] > 1000
        assert said["main"] not in calls(run.output("profiled").trace)
