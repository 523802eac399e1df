"""Capture graphs and replay them beside the same work without graphs; print what test_graphs.py compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
import torch_npu
from torch import nn

found: dict[str, Any] = {}


def raised(function: Callable[[], object]) -> str:
    try:
        function()
    except Exception as error:  # noqa: BLE001 - it is shown
        return f"{type(error).__name__}: {error}"
    return ""


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.cpu(), other.cpu())


def warm(function: Callable[[], object]) -> None:
    """Run on a side stream first, as PyTorch's page on graphs shows."""
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for _ in range(3):
            function()
    torch.npu.current_stream().wait_stream(side)


def inference() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).npu().eval()
    x = torch.randn(3, 8, device="npu")
    with torch.no_grad():
        warm(lambda: net(x))
        graph, inside = torch.npu.NPUGraph(), []
        with torch.npu.graph(graph):
            inside.append(torch.npu.is_current_stream_capturing())
            y = net(x)
        inside.append(torch.npu.is_current_stream_capturing())
        address, results = y.data_ptr(), []
        for _ in range(3):
            given = torch.randn(3, 8, device="npu")
            x.copy_(given)
            graph.replay()
            results.append(same(y, net(given)) and y.data_ptr() == address)
    found["capturing"], found["inference"] = inside, results
    found["pools"] = [graph.pool()[1], torch.npu.graph_pool_handle()[0]]
    graph.reset()
    found["after reset"] = raised(graph.replay)


def train(steps: int, *, captured: bool) -> tuple[list[float], list[torch.Tensor]]:
    """Train with dropout, batch statistics and momentum; the whole step is one graph, or none."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4)).npu()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for parameter in net.parameters():
        optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    data = [(torch.randn(6, 8).npu(), torch.randn(6, 4).npu()) for _ in range(steps)]
    x, label = torch.zeros(6, 8, device="npu"), torch.zeros(6, 4, device="npu")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(net(x), label)
        loss.backward()
        optimizer.step()
        return loss

    torch.npu.manual_seed(7)
    graph = torch.npu.NPUGraph() if captured else None
    if graph is not None:
        before = [tensor.cpu() for tensor in net.state_dict().values()]
        with torch.npu.graph(graph):
            loss = step()
        found["capture changes nothing"] = all(map(same, net.state_dict().values(), before))
    losses = []
    for given, wanted in data:
        x.copy_(given)
        label.copy_(wanted)
        if graph is None:
            loss = step()
        else:
            graph.replay()
        losses.append(loss.item())
    return losses, list(net.state_dict().values())


def whole_steps() -> None:
    (here, there), (graphed, weights) = train(5, captured=False), train(5, captured=True)
    found["losses"] = [here, graphed]
    found["weights"] = all(map(same, there, weights))


def callables() -> None:
    def nets() -> tuple[nn.Module, nn.Module, nn.Module]:
        torch.manual_seed(2)
        return nn.Linear(8, 16).npu(), nn.Sequential(nn.Linear(16, 16), nn.Tanh()).npu(), nn.Linear(16, 4).npu()

    data = [(torch.randn(6, 8).npu(), torch.randn(6, 4).npu()) for _ in range(4)]
    outcome = []
    for captured in (False, True):
        first, second, third = nets()
        every = nn.ModuleList([first, second, third])
        if captured:
            sample, hidden = torch.randn(6, 8, device="npu"), torch.randn(6, 16, device="npu", requires_grad=True)
            first, third = torch.npu.make_graphed_callables((first, third), ((sample,), (hidden,)))
        optimizer, losses = torch.optim.AdamW(every.parameters(), lr=0.01), []
        for x, label in data:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(third(second(first(x))), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        outcome.append((losses, [p.detach() for p in every.parameters()]))
    found["callables"] = [losses for losses, _ in outcome]
    found["callables' weights"] = all(map(same, outcome[0][1], outcome[1][1]))
    double = torch.npu.make_graphed_callables(lambda a, b: (a * b, a + b), (torch.ones(3).npu(), torch.ones(3).npu()))
    found["function"] = [t.tolist() for t in double(torch.tensor([1.0, 2, 3]).npu(), torch.tensor([4.0, 5, 6]).npu())]
    hooked = nn.Linear(2, 2).npu()
    hooked.register_forward_hook(lambda *_: None)
    found["hooks"] = raised(lambda: torch.npu.make_graphed_callables(hooked, (torch.ones(2).npu(),)))


def intermediates() -> None:
    """Views, in-place writes to what goes, to what stays and to what was there before; memory on the way is free."""
    x, total = torch.arange(6.0).npu(), torch.zeros(2, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        base = (x * 2).view(2, 3)
        base[0].add_(1)
        row = base[1]
        total.add_(base.sum(1))
        out = torch.empty(3, device="npu")
        torch.mul(row, 10, out=out)
        del base
    found["total before replay"] = total.tolist()
    for value in (1.0, 2.0):
        x.fill_(value)
        graph.replay()
    found["intermediates"] = [total.tolist(), row.tolist(), out.tolist()]
    big, graph = torch.ones(1 << 18, device="npu"), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        result = ((big + 1) * 3).sum()
    torch.npu.reset_peak_memory_stats()
    held = torch.npu.memory_allocated()
    graph.replay()
    found["memory"] = [torch.npu.max_memory_allocated() - held, result.item()]


def refusals() -> None:
    x = torch.ones(3, device="npu")

    def capture(function: Callable[[], object], **options: Any) -> str:
        graph = torch.npu.NPUGraph()

        def run() -> None:
            with torch.npu.graph(graph, **options):
                function()

        text = raised(run)
        found.setdefault("left behind", []).append([raised(graph.replay)[:60], torch.npu.is_current_stream_capturing()])
        return text

    found["item"] = capture(lambda: x.sum().item())
    found["nonzero"] = capture(lambda: torch.nonzero(x))
    found["copy"] = capture(x.cpu)
    found["synchronize"] = [capture(torch.npu.synchronize), capture(lambda: torch.npu.current_stream().synchronize())]
    found["mode"] = capture(lambda: None, capture_error_mode="strict")
    found["default stream"] = capture(lambda: None, stream=torch.npu.default_stream())
    graph = torch.npu.NPUGraph()
    found["no end"] = raised(graph.capture_end)
    with torch.npu.graph(graph):
        x.add(1)
    found["twice"] = raised(graph.capture_begin)
    found["update"] = raised(lambda: graph.update([{}]))


def attention(lengths: list[int], tensors: tuple[torch.Tensor, ...]) -> torch.Tensor:
    query, key, value = tensors
    return torch_npu.npu_fused_infer_attention_score(
        query, key, value, num_heads=2, input_layout="BNSD", scale=0.3, actual_seq_lengths_kv=lengths
    )[0]


def updates() -> None:
    """Other lengths of sequences for captured attention: by handlers, and by a task group."""
    torch.manual_seed(3)
    tensors = tuple(torch.randn(1, 2, n, 16).half().npu() for n in (1, 32, 32))
    short, long = attention([5], tensors), attention([30], tensors)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        out = attention([5], tensors)
    graph.replay()
    results = [same(out, short)]
    graph.update([{"actual_seq_lengths_kv": [30]}])
    graph.replay()
    found["handlers"] = [*results, same(out, long)]
    found["too many"] = raised(lambda: graph.update([{}, {}]))

    graph, event, stream, x = torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream(), torch.ones(3).npu()
    with torch.npu.graph(graph):
        current = torch.npu.current_stream()
        event.wait(current)
        event.reset(current)
        torch.npu.graph_task_group_begin(current)
        y = torch.empty(3, device="npu")
        torch.add(x, 1, out=y)
        handle = torch.npu.graph_task_group_end(current)
        z = y * 10
    with torch.npu.stream(stream):
        torch.npu.graph_task_update_begin(stream, handle)
        torch.add(x, 5, out=y)
        torch.npu.graph_task_update_end(stream)
        event.record(stream)
    before = z.tolist()
    graph.replay()
    found["task group"] = [before, z.tolist(), isinstance(handle, torch_npu._C._NPUTaskGroupHandle)]
    query, cache = torch.randn(2, 2, 16).half().npu(), torch.randn(4, 8, 2, 16).half().npu()
    table, out = torch.tensor([[0, 1], [2, 3]], dtype=torch.int32).npu(), torch.zeros_like(query)

    def paged(lengths: list[int]) -> None:
        torch_npu._npu_paged_attention(
            query, cache, cache, 2, 2, 0.25, table, torch.tensor(lengths, dtype=torch.int32), out
        )

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        current = torch.npu.current_stream()
        torch.npu.graph_task_group_begin(current)
        paged([3, 9])
        handle = torch.npu.graph_task_group_end(current)
    with torch.npu.stream(stream):
        torch.npu.graph_task_update_begin(stream, handle)
        paged([14, 2])
        torch.npu.graph_task_update_end(stream)
    graph.replay()
    replayed = out.clone()
    paged([14, 2])
    found["paged"] = [bool(out.any()), same(replayed, out)]
    found["no group"] = raised(lambda: torch.npu.graph_task_group_begin(stream))


def others() -> None:
    """Random numbers, two streams, functions of the host, and tensors that other graphs hold."""
    graph, drawn = torch.npu.NPUGraph(), []
    with torch.npu.graph(graph):
        noise = torch.rand(4, device="npu")
    torch.npu.manual_seed(5)
    for _ in range(2):
        graph.replay()
        drawn.append(noise.tolist())
    torch.npu.manual_seed(5)
    found["random"] = [drawn, [torch.rand(4, device="npu").tolist() for _ in range(2)]]

    x, side, graph = torch.ones(3, device="npu"), torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            left = x + 1
        right = x * 2
        main.wait_stream(side)
        both = left + right
    x.fill_(4)
    graph.replay()
    found["streams"] = [both.tolist(), torch.npu.current_stream() == torch.npu.default_stream()]

    calls: list[str] = []
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch.npu._launch_host_func(torch.npu.current_stream(), calls.append, "called")
        weak = torch_npu._C._weak_ref_tensor(x * 3)
    captured = len(calls)
    graph.replay()
    found["host function"] = [captured, calls, weak.tolist()]


def composed() -> None:
    """Indices by position and by mask, and operators that PyTorch puts together from others."""
    table, places = torch.arange(40.0, device="npu").view(10, 4), torch.tensor([7, 2], device="npu")
    counts = torch.tensor([1, 3], device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        parts = [table[places], table[:, places[1:]], table[:2].repeat_interleave(counts, 0, output_size=4)]
    places.copy_(torch.tensor([0, 3], device="npu"))
    graph.replay()
    found["positions"] = [parts[0].tolist(), parts[1][:2].tolist(), parts[2][:, 0].tolist()]
    mask = table > 4

    def masked() -> None:
        with torch.npu.graph(torch.npu.NPUGraph()):
            table[mask]

    found["mask"] = raised(masked)

    @torch.library.custom_op("drynpu_test::add_in_place", mutates_args=("x",))
    def add_in_place(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(y)

    @add_in_place.register_fake
    def _(x: torch.Tensor, y: torch.Tensor) -> None:
        return None

    @torch.compile(backend="aot_eager")
    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        add_in_place(x, y)
        return x * 2

    x, y = torch.ones(3, device="npu"), torch.tensor([1.0, 2.0, 4.0], device="npu")
    step(x, y)
    with torch.npu.graph(graph := torch.npu.NPUGraph()):
        doubled = step(x, y)
    before = x.tolist()
    graph.replay()
    found["functionalized"] = [before, x.tolist(), doubled.tolist()]


inference()
whole_steps()
callables()
intermediates()
refusals()
updates()
others()
composed()
print(json.dumps(found))
