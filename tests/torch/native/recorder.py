"""
Record work by the device's recorder and by Kineto; ``python recorder.py CASE`` prints what test_recorder.py expects.

Most cases record the same work by both at the same time, so that rows have to agree one by one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import statistics
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.autograd.profiler import record_function
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from drynpu_torch import device
from drynpu_torch.capture import Capture, ColumnTracer, KinetoTracer, Tracer
from drynpu_torch.install import install

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch" / "train_gpt.py"
Row = tuple[Any, ...]


class Beside(ColumnTracer):
    """The recorder where another profiler is active."""

    def must_be_alone(self) -> None:
        """Refuse nothing."""


def rows_of(tracer: Tracer, chunk: Any) -> dict[int, list[Row]]:
    """Return for each thread name, forward thread, sequence number, scope, call and times of its operators."""
    names, found = tracer.names.values, {}
    columns = ("thread", "name", "fwd_thread", "sequence", "scope", "call", "start_ns", "end_time_ns")
    for thread, name, *rest, call, start, end in zip(*(getattr(chunk, c).tolist() for c in columns), strict=True):
        shown = shown_call(*tracer.examples[call]) if call >= 0 else None
        found.setdefault(thread, []).append((names[name], *rest, shown, start, end))
    return found


def shown_call(name: str, shapes: object, types: object, values: list[Any]) -> str:
    """Return a call as text. Of symbols, which Kineto keeps as they are, the recorder knows that they are none."""
    return repr((name, shapes, types, known(values)))


def known(value: Any) -> Any:
    if isinstance(value, list):
        return [known(item) for item in value]
    return value if isinstance(value, (bool, int, float, complex)) else None


def depths(rows: list[Row]) -> list[int]:
    """Return how many operators each lies inside of."""
    outer: list[int] = []
    found = []
    for *_, start, end in rows:
        while outer and outer[-1] <= start:
            outer.pop()
        found.append(len(outer))
        outer.append(end)
    return found


def compared(work: Callable[[], object]) -> dict[str, Any]:
    """Record *work* by both at once and say how they differ."""
    work()  # what happens once
    kineto, recorder = KinetoTracer(), Beside()
    kineto.start()
    recorder.start()
    work()
    found = rows_of(recorder, recorder.stop())
    expected = rows_of(kineto, kineto.stop())
    pairs = [
        (ours, theirs)
        for thread in found.keys() & expected.keys()
        for ours, theirs in zip(found[thread], expected[thread], strict=False)
    ]
    distinct = {row[0] for rows in found.values() for row in rows}
    return {
        "threads": len(found),
        "counts": found.keys() == expected.keys() and all(len(found[t]) == len(expected[t]) for t in found),
        "rows": len(pairs),
        "different": [[ours[:5], theirs[:5]] for ours, theirs in pairs if ours[:5] != theirs[:5]][:3],
        "depths": all(depths(found[t]) == depths(expected[t]) for t in found.keys() & expected.keys()),
        "apart_us": statistics.median(abs(ours[5] - theirs[5]) / 1000 for ours, theirs in pairs),
        "names": sorted(distinct),
    }


def gpt() -> Callable[[], object]:
    """Return a step of the example."""
    spec = importlib.util.spec_from_file_location("train_gpt", EXAMPLE)
    assert spec is not None and spec.loader is not None  # noqa: PT018 - for the type checker
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = example.GPT().npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, example.VOCABULARY, (example.BATCH, example.CONTEXT)).npu()

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.bfloat16):
            loss = model(tokens, tokens)
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def convolutions() -> Callable[[], object]:
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(36, 5)).npu()
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.optim.Adam(model.parameters())]
    data = DataLoader(TensorDataset(torch.randn(8, 3, 8, 8), torch.randint(0, 5, (8,))), batch_size=4, num_workers=2)

    def epoch() -> None:
        for optimizer, (images, labels) in zip(optimizers, data, strict=True):
            loss = F.cross_entropy(model(images.npu()), labels.npu())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return epoch


def nested_autograd() -> Callable[[], object]:
    def work() -> None:
        leaf = torch.ones(3, 3, requires_grad=True, device="npu")
        (gradient,) = torch.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
        gradient.sum().backward()
        torch.utils.checkpoint.checkpoint(torch.sin, leaf, use_reentrant=True).sum().backward()
        torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(leaf.detach())
        host = torch.ones(4, requires_grad=True)
        host.exp().sum().backward()

    return work


def threads() -> Callable[[], object]:
    shared = torch.ones(4, 4, device="npu", requires_grad=True)

    def work() -> None:
        def compute(number: int) -> None:
            with record_function(f"worker {number}"):
                for turn in range(20):
                    (shared @ shared).add(turn).sum().backward()

        workers = [threading.Thread(target=compute, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return work


@torch.jit.script
def scripted(x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """Run a little as TorchScript."""
    return x.reshape(sizes).relu() + 1


def arguments() -> Callable[[], object]:
    """Return work with all kinds of arguments."""
    x = torch.arange(6.0, device="npu").reshape(2, 3)

    def work() -> None:
        torch.stack([x, x])
        torch.cat([x] * 40)
        torch._foreach_add([x, x[0], x[0, 0]], [1.0, 2.0, 3.0])
        torch.full((2,), complex(1, -2))
        torch.full((2,), True)
        torch.full((), float("nan"))
        torch.full((2,), -float("inf"), dtype=torch.float64)
        x.view(-1, *[1] * 35).permute(*range(35, -1, -1))
        torch.randint(0, 5, (3,)).to(torch.int16)
        x[torch.tensor([True, False], device="npu"), 1:]
        x[None, :, [0, 2]]
        torch.nn.functional.pad(x, [], "constant", 1 << 40)
        torch.zeros(0, 3, device="npu").sum(dim=[])
        x.to(torch.bfloat16).half().to(torch.uint8).bool()
        torch.einsum("ij,ij->i", x, x)
        torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).dequantize()
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).sum(1, keepdim=True)
        torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,)).to_dense()
        torch.gradient(torch.arange(4.0), spacing=2.0)
        scripted(x, [3, 2])
        with record_function("ein Bereich mit Umlaut: ä"), torch.autograd.profiler.record_function("x", "arguments"):
            x + x
        with contextlib.suppress(RuntimeError):
            x @ x
        with contextlib.suppress(IndexError):
            x[5]
        torch.save(x, io.BytesIO())
        fast = torch._C._profiler._RecordFunctionFast("fast", [x, 3], {"stream": 1})
        with fast:
            x.neg()

    return work


def compiled() -> Callable[[], object]:
    function = torch.compile(lambda x: (x * x.shape[0]).relu().sum(), dynamic=True)

    def work() -> None:
        torch._dynamo.reset()
        for size in (3, 5, 7):
            leaf = torch.ones(size, 2, device="npu", requires_grad=True)
            function(leaf).backward()

    return work


def placed(make: Callable[[], Callable[[], object]]) -> object:
    """Record the same work by one after the other, as recordings do; compare rows with the place that they get."""

    def once(tracer: Tracer) -> list[object]:
        torch.manual_seed(0)
        work = make()
        work()  # what happens once
        capture = Capture(tracer=tracer)
        capture.start()
        device.state().recorder = capture.device_calls
        try:
            work()
        finally:
            operators = capture.stop().operators
            device.state().recorder = None
        order = {thread: number for number, thread in enumerate(dict.fromkeys(operators.thread.tolist()))}
        rows = []
        for row in range(len(operators)):
            number = operators.signature[row]
            signature = operators.signatures[number] if number >= 0 else None
            texts = operators.texts[number] if number >= 0 else None
            thread = order[int(operators.thread[row])]
            shown = (operators.names[operators.name[row]], int(operators.scope[row]), bool(operators.reported[row]))
            rows.append((thread, *shown, repr(signature), texts))
        return sorted(rows, key=repr)  # a loader's batches come when they come

    found, expected = once(ColumnTracer()), once(KinetoTracer())
    return [len(found), len(expected), [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]][:3]]


def memory() -> object:
    """Allocations of a training by both at once, and of a thread of Python, which is not reported."""
    step = gpt()
    step()
    kineto, recorder = KinetoTracer(memory=True), Beside(memory=True)
    kineto.start()
    recorder.start()
    step()
    found, expected = recorder.stop(), kineto.stop()

    def columns(chunk: Any) -> list[object]:
        return [getattr(chunk, f"memory_{name}").tolist() for name in ("thread", "address", "bytes")]

    def allocate() -> None:
        kept.append(torch.empty(1000, device="npu"))

    kept: list[torch.Tensor] = []
    tracer = ColumnTracer(memory=True)
    tracer.start()
    with tracer.threads.watched():
        thread = threading.Thread(target=allocate)
        thread.start()
        thread.join()
        allocate()
        sizes = tracer.stop().memory_bytes.tolist()
    tracer = ColumnTracer()
    tracer.start()
    allocate()
    return [columns(found) == columns(expected), len(found.memory_bytes), sizes, len(tracer.stop().memory_bytes)]


def recorded(tracer: ColumnTracer) -> list[Row]:
    """Return the rows of the calling thread."""
    return rows_of(tracer, tracer.stop()).get(threading.get_native_id(), [])


def open_ends() -> object:
    """Ranges that are open where a recording begins or ends."""
    x = torch.ones(3, device="npu")
    tracer, early, late = ColumnTracer(), record_function("early"), record_function("late")
    inner = record_function("inner")
    early.__enter__()
    tracer.start()
    x.neg()
    early.__exit__(None, None, None)
    with record_function("outer"):
        inner.__enter__()
        x.exp()
    late.__enter__()
    x.sin()
    rows = recorded(tracer)
    tracer.start()
    late.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    x.cos()
    after = recorded(tracer)
    end = {row[0]: row[6] for row in rows}
    return [
        [row[0] for row in rows],
        end["inner"] == end["outer"],
        end["late"] >= max(end.values()),
        [row[0] for row in after],
    ]


def indices() -> object:
    """Index by tensors and by a mask, and write to indices; return what each call keeps of its indices."""
    x, mask = torch.zeros(5, 6, 7, device="npu"), torch.ones(5, dtype=torch.bool).npu()
    row, column = torch.zeros(4, dtype=torch.int64).npu(), torch.zeros(4, 1, dtype=torch.int64).npu()
    tracer = ColumnTracer()
    tracer.start()
    for key in ((row,), (slice(None), row, row), (column, slice(None), row), (mask,)):
        x[key]
    x[row, row] = 1.0
    recorded(tracer)
    calls = [call for call in tracer.examples.values() if call[0] in {"aten::index", "aten::_index_put_impl_"}]
    return [(name.removeprefix("aten::"), shapes[1], types[1], values[1]) for name, shapes, types, values in calls]


def names_of_operators() -> Callable[[], object]:
    """Return work on operators that come and go, whose names may lie where others lay, and on ranges named alike."""
    x = torch.ones(3, device="npu")

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def work() -> None:
        for round_number in range(6):
            library = torch.library.Library("passing", "DEF")
            name = f"operator_of_the_{'even' if round_number % 2 else 'odd_'}_round"
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, double, "CompositeExplicitAutograd")
            for _ in range(2):
                getattr(torch.ops.passing, name)(x)
            library._destroy()
            with record_function("aten::mul"):  # a range, in another scope than the operator
                torch.mul(x, 2)
                torch.mul(x, x)
            x.mul(2.0)

    return work


def ended_threads() -> object:
    """Many threads that end, one after another: their rows are there, and their buffers serve again."""
    tracer, counts, identities = ColumnTracer(), [], set()

    def compute() -> None:
        identities.add(threading.get_native_id())
        torch.ones(3).exp2()

    for _ in range(3):
        tracer.start()
        for _ in range(50):
            thread = threading.Thread(target=compute)
            thread.start()
            thread.join()
        rows = [row[0] for each in rows_of(tracer, tracer.stop()).values() for row in each]
        counts.append(rows.count("aten::exp2"))
    return counts


def stressed() -> object:
    """Threads compute while recordings begin and end."""
    done, wrong = threading.Event(), []

    def compute() -> None:
        x = torch.ones(4, 4, device="npu", requires_grad=True)
        while not done.is_set():
            with record_function("turn"):
                (x @ x).sum().backward()

    workers = [threading.Thread(target=compute) for _ in range(4)]
    for worker in workers:
        worker.start()
    tracer, total = ColumnTracer(), 0
    for _ in range(300):
        tracer.start()
        torch.ones(3, device="npu").neg()
        chunk = tracer.stop()
        total += len(chunk.name)
        if (chunk.end_time_ns < chunk.start_ns).any() or chunk.name.max() >= len(tracer.names.values):
            wrong.append("row")
        if "aten::neg" not in {tracer.names.values[number] for number in chunk.name.tolist()}:
            wrong.append("lost")
    done.set()
    for worker in workers:
        worker.join()
    return [wrong, total > 300, len(tracer.names.values) < 200]


def beside_torch_profiler() -> object:
    """PyTorch's own profiler begins and ends inside a recording; a recording inside either is refused."""
    x = torch.ones(4, device="npu")
    tracer = ColumnTracer()
    tracer.start()
    x.sin()
    with torch.profiler.profile(record_shapes=True) as other:
        x.cos()
        x.exp()
    x.tan()
    rows = [row[0] for row in recorded(tracer)]
    seen = [event.name for event in other.events() if event.name.startswith("aten::")]
    refused = []
    with torch.profiler.profile():
        refused.append(refusal())
    tracer.start()
    refused.append(refusal())
    tracer.stop()
    return [[name for name in rows if name.startswith("aten::")], seen, refused]


def refusal() -> str:
    """Return what a second recording raises."""
    try:
        ColumnTracer().start()
    except Exception as error:  # noqa: BLE001 - the kind is part of what is returned
        return f"{type(error).__name__}: {error}"
    return ""


def forked() -> object:
    """Return what a child records that was forked in a recording, and what its parent does after that."""
    tracer, context = ColumnTracer(), torch.multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child() -> None:
        torch.ones(3).exp2()
        inherited = device.state().library.is_recording
        mine = ColumnTracer()
        mine.start()
        torch.ones(3).exp2()
        queue.put([inherited, [row[0] for row in recorded(mine)]])

    tracer.start()
    torch.ones(3).sin()
    process = context.Process(target=child)
    process.start()
    process.join()
    torch.ones(3).cos()
    rows = [row[0] for row in recorded(tracer)]
    return [process.exitcode, queue.get(), [name for name in rows if name in ("aten::sin", "aten::exp2", "aten::cos")]]


WORK = (gpt, convolutions, nested_autograd, threads, arguments, compiled, names_of_operators)
_ALONE = (memory, open_ends, indices, ended_threads, stressed, beside_torch_profiler, forked)
CASES: dict[str, Callable[[], object]] = {
    **{work.__name__: functools.partial(lambda make: compared(make()), work) for work in WORK},
    **{f"placed {work.__name__}": functools.partial(placed, work) for work in WORK[:3]},
    **{case.__name__: case for case in _ALONE},
}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings about prototypes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


if __name__ == "__main__":
    install()
    with quiet():
        print(json.dumps(CASES[sys.argv[1]]()))
