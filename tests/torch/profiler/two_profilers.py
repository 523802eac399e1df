"""Record after a profiler that did not end as usual; each case has the folders ``<case>`` and ``<case>-then``."""

from __future__ import annotations

import threading
from contextlib import suppress

import torch
import torch_npu

profiler = torch_npu.profiler
model, data = torch.nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()
CASES = {}
kept = []


def case(function):
    CASES[function.__name__] = function
    return function


def new(folder, **options):
    return profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(folder), **options)


def begun(folder):
    prof = new(folder)
    prof.start()
    step()
    prof.step()
    return prof


def step():
    model(data).sum().backward()


@case
def dropped(folder):
    begun(folder)


@case
def dropped_by_a_thread(folder):
    thread = threading.Thread(target=begun, args=(folder,))
    thread.start()
    thread.join()


@case
def failed(folder):
    with suppress(ValueError), new(folder) as prof:
        step()
        prof.step()
        raise ValueError("of the script")


@case
def interrupted(folder):
    with suppress(KeyboardInterrupt), new(folder):
        step()
        raise KeyboardInterrupt


@case
def handler_failed(folder):
    write = profiler.tensorboard_trace_handler(folder)

    def handle(prof):
        write(prof)
        raise ValueError("of the script")

    with profiler.profile(on_trace_ready=handle):
        step()


@case
def amid_a_schedule(folder):
    prof = new(folder, schedule=profiler.schedule(wait=0, warmup=0, active=5, repeat=1))
    prof.start()
    step()
    prof.step()


@case
def ended(folder):
    begun(folder).stop()


@case
def forgotten(folder):
    kept.append(begun(folder))


step()
for name, run in CASES.items():
    print(f"begin {name}", flush=True)
    run(name)
    with new(f"{name}-then"):
        step()
        step()
print("begin end")
