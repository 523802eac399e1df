"""
The same script under ``torch.profiler`` and under ours: the same operators, in the same places, with the same shapes.

``DIFFERENCES`` names everything in which the two may differ; docs/torch-device.md explains it. Whatever else differs is
a line of `Comparison.problems`, and `test_any_other_difference_is_seen` makes sure of that.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field, frozen

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("training_script.py")
DOCUMENTED = Path(__file__).parents[3] / "docs" / "torch-device.md"
STEPS = ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
TO_DEVICE, TO_HOST, COMPUTING = "copies to the device", "copies to the host", "operators inside a kernel"
DIFFERENCES = (TO_DEVICE, TO_HOST, COMPUTING)
TRAININGS = ["mlp", "cnn", "transformer"]
COPIES = {"mlp": {}, "cnn": {TO_DEVICE: 12, TO_HOST: 6}, "transformer": {}}
"""In three steps: the convolution's two batches of two tensors, and its two copies to the host."""

SINK = {"DRYNPU_DEVICE": "sink"}
"""On the native device PyTorch runs the backward pass in a thread of its own, and calls what a device makes it call."""

Event = dict[str, Any]


@frozen
class Operator:
    """One call; the times are ns from the same origin within a trace."""

    name: str
    inputs: tuple[tuple[str, str], ...]
    """Dims and type of every input, as in the vendor's trace."""
    sequence: tuple[int, bool]
    """Autograd's number, and whether the forward operator ran elsewhere."""
    start_ns: int
    end_ns: int
    thread: int
    launches: bool = False
    """Whether the trace draws an arrow from here to a kernel."""

    @property
    def label(self) -> tuple[object, ...]:
        return self.name, self.inputs, self.sequence


@define
class Node:
    """A call and those that it made."""

    operator: Operator
    children: list[Node] = field(factory=list)

    @property
    def names(self) -> tuple[object, ...]:
        return self.operator.name, tuple(child.names for child in self.children)


def nanoseconds(text: object) -> int:
    return int(Decimal(str(text)) * 1000)


def dims(shape: Any) -> str:
    """Write the shape of a tensor or of a list of tensors as the vendor does (docs/formats.md)."""
    if shape and isinstance(shape[0], list):
        return "[" + ",".join("[" + ",".join(map(str, one)) + "]" for one in shape) + "]"
    return ",".join(map(str, shape))


def of_torch(path: Path) -> list[Operator]:
    events = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)["traceEvents"]
    return [
        operator(
            event,
            tuple(
                (dims(shape), kind or "None")
                for shape, kind in zip(
                    event["args"].get("Input Dims", ()), event["args"].get("Input type", ()), strict=True
                )
            ),
        )
        for event in events
        if event.get("cat") in ("cpu_op", "user_annotation")
    ]


def of_ours(path: Path) -> list[Operator]:
    events = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    arrows = {(e["tid"], e["ts"]) for e in events if e.get("cat") == "async_npu" and e["ph"] == "s"}
    found = []
    for event in events:
        if event.get("cat") == "cpu_op":
            shapes, types = (split(event["args"].get(key)) for key in ("Input Dims", "Input type"))
            inputs = tuple(zip(shapes, types, strict=True))
            found.append(evolve(operator(event, inputs), launches=(event["tid"], event["ts"]) in arrows))
    return found


def split(text: str | None) -> list[str]:
    return [] if text is None else text.split(";\r\n")


def operator(event: Event, inputs: tuple[tuple[str, str], ...]) -> Operator:
    args, start = event["args"], nanoseconds(event["ts"])
    sequence = args.get("Sequence number", -1), args.get("Fwd thread id", 0) != 0
    return Operator(event["name"], inputs, sequence, start, start + nanoseconds(event["dur"]), event["tid"])


def forest(operators: list[Operator]) -> list[Node]:
    """Nest what lies inside each other on a thread; roots in order of time."""
    roots: list[Node] = []
    open_calls: dict[int, list[Node]] = {}
    for each in sorted(operators, key=lambda o: (o.start_ns, -o.end_ns)):
        stack = open_calls.setdefault(each.thread, [])
        while stack and stack[-1].operator.end_ns < each.end_ns:
            stack.pop()
        node = Node(each)
        (stack[-1].children if stack else roots).append(node)
        stack.append(node)
    return roots


@define
class Comparison:
    """Walk two forests; count the named differences, list all others. ``hides``: the projected clock is shown."""

    hides: bool = False
    named: Counter[str] = field(factory=Counter)
    problems: list[str] = field(factory=list)

    def walk(self, torchs: list[Node], ours: list[Node], place: str = "") -> None:
        if len(torchs) != len(ours):
            here, there = ([node.operator.name for node in nodes] for nodes in (torchs, ours))
            self.problems.append(f"{place}: torch.profiler has {here}, we have {there}")
            return
        for position, (theirs, mine) in enumerate(zip(torchs, ours, strict=True)):
            self.meet(theirs, mine, f"{place}/{position} {theirs.operator.name}")

    def meet(self, theirs: Node, mine: Node, place: str) -> None:
        if self._copies_to_host(theirs, mine):
            self.named[TO_HOST] += 1
            return
        if theirs.operator.label != mine.operator.label:
            self.problems.append(f"{place}: {theirs.operator.label} became {mine.operator.label}")
        if self._copies_to_device(theirs, mine):
            self.named[TO_DEVICE] += 1
        elif self.hides and mine.operator.launches and theirs.children and not mine.children:
            self.named[COMPUTING] += 1
        else:
            self.walk(theirs.children, mine.children, place)

    def _copies_to_device(self, theirs: Node, mine: Node) -> bool:
        """Nothing to copy on the CPU, a copy to the device."""
        if theirs.names != ("aten::to", ()) or [child.operator.name for child in mine.children] != ["aten::_to_copy"]:
            return False
        (copy,) = mine.children
        return self._copies(copy) and copy.operator.inputs[0] == theirs.operator.inputs[0]

    def _copies_to_host(self, theirs: Node, mine: Node) -> bool:
        """Nothing to copy on the CPU, a copy to the host; what begins it has no arguments."""
        if theirs.names != ("aten::to", ()) or mine.operator.name != "aten::to" or mine.operator.inputs:
            return False
        if [child.operator.name for child in mine.children] != ["aten::clone"]:
            return False
        (copy,) = mine.children
        return self._copies(copy) and copy.operator.inputs[0] == theirs.operator.inputs[0]

    def _copies(self, copy: Node) -> bool:
        called = [child.names for child in copy.children]
        computed = [("aten::empty_strided", ()), ("aten::copy_", ())]
        return copy.operator.launches and called == ([] if self.hides else computed)


@frozen
class Sides:
    """What each of the processes left, by the name of the run."""

    folders: dict[str, Path]

    def torch(self, training: str) -> list[Operator]:
        (path,) = (self.folders["torch"] / training).glob("*.pt.trace.json")
        return of_torch(path)

    def ours(self, training: str, run: str) -> list[Operator]:
        (path,) = (self.folders[run] / training).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
        return of_ours(path)


@pytest.fixture(scope="module")
def sides(scripts: Any) -> Sides:
    # Kineto announces itself unless it is told not to; drynpu does so by itself.
    runs = scripts.together(
        lambda: scripts(SCRIPT, "torch.profiler", "cpu", environment={"KINETO_LOG_LEVEL": "99"}),
        lambda: scripts(SCRIPT, "torch_npu.profiler", "npu", environment={**SINK, "DRYNPU_CLOCK": "wall"}),
        lambda: scripts(SCRIPT, "torch_npu.profiler", "npu", environment=SINK),
    )
    return Sides(dict(zip(("torch", "wall", "modelled"), (run.folder for run in runs), strict=True)))


@pytest.mark.parametrize("training", TRAININGS)
def test_operators_nesting_and_shapes_are_those_of_torch_profiler(sides: Sides, training: str) -> None:
    theirs, ours = forest(sides.torch(training)), forest(sides.ours(training, "wall"))
    assert [node.operator.name for node in ours] == STEPS
    comparison = Comparison()
    comparison.walk(theirs, ours)
    assert comparison.problems == []
    assert comparison.named == COPIES[training]


@pytest.mark.parametrize("training", TRAININGS)
def test_beside_an_npu_only_what_computes_a_kernel_is_left_out(sides: Sides, training: str) -> None:
    theirs, ours = sides.torch(training), sides.ours(training, "modelled")
    comparison = Comparison(hides=True)
    comparison.walk(forest(theirs), forest(ours))
    assert comparison.problems == []
    hidden = comparison.named.pop(COMPUTING)
    assert 0 < hidden <= sum(operator.launches for operator in ours)
    assert len(ours) < len(theirs)
    assert comparison.named == COPIES[training]


@pytest.mark.parametrize("training", ["mlp", "transformer"])
def test_every_step_counts_the_same_calls(sides: Sides, training: str) -> None:
    def counts(operators: list[Operator]) -> list[Counter[tuple[object, ...]]]:
        steps = [o for o in operators if o.name in STEPS]
        return [
            Counter((o.name, o.inputs) for o in operators if step.start_ns <= o.start_ns <= step.end_ns)
            for step in sorted(steps, key=lambda o: o.start_ns)
        ]

    theirs, ours = counts(sides.torch(training)), counts(sides.ours(training, "wall"))
    assert theirs == ours
    assert len(ours) == len(STEPS)
    assert min(map(Counter.total, ours)) > 100


def test_every_difference_is_explained() -> None:
    text = " ".join(DOCUMENTED.read_text(encoding="utf-8").split())
    for difference in DIFFERENCES:
        assert f"**{difference}**" in text


def copied(roots: list[Node]) -> list[Node]:
    return [Node(node.operator, copied(node.children)) for node in roots]


def places(roots: list[Node], argued: bool = True) -> Iterator[tuple[list[Node], int, bool]]:
    """Return every place of a forest: a list, a position in it, and whether torch.profiler has its like to compare."""
    for position, node in enumerate(roots):
        called = [child.operator.name for child in node.children] if node.operator.name == "aten::to" else []
        yield roots, position, argued and called != ["aten::clone"]
        yield from places(node.children, argued and called not in (["aten::clone"], ["aten::_to_copy"]))


def replace(where: list[Node], at: int, **changes: Any) -> None:
    where[at] = Node(evolve(where[at].operator, **changes), where[at].children)


def lose(where: list[Node], at: int) -> None:
    del where[at]


def double(where: list[Node], at: int) -> None:
    where.insert(at, where[at])


def lift(where: list[Node], at: int) -> None:
    where[at : at + 1] = [evolve(where[at], children=[]), *where[at].children]


def lose_children(where: list[Node], at: int) -> None:
    where[at] = Node(evolve(where[at].operator, launches=False))


def rename(where: list[Node], at: int) -> None:
    replace(where, at, name="aten::other")


def reshape(where: list[Node], at: int) -> None:
    replace(where, at, inputs=tuple((shape + ",7", kind) for shape, kind in where[at].operator.inputs) or (("", ""),))


def retype(where: list[Node], at: int) -> None:
    replace(where, at, inputs=tuple((shape, "quantized") for shape, _ in where[at].operator.inputs) or (("", ""),))


def renumber(where: list[Node], at: int) -> None:
    number, elsewhere = where[at].operator.sequence
    replace(where, at, sequence=(number + 1, elsewhere))


@pytest.mark.parametrize("change", [lose, double, lift, lose_children, rename, reshape, retype, renumber])
@pytest.mark.parametrize("run", ["wall", "modelled"])
def test_any_other_difference_is_seen(sides: Sides, run: str, change: Callable[[list[Node], int], None]) -> None:
    def outcome(ours: list[Node]) -> Comparison:
        comparison = Comparison(hides=run == "modelled")
        comparison.walk(theirs, ours)
        return comparison

    theirs, ours = forest(sides.torch("cnn"))[:1], forest(sides.ours("cnn", run))[:1]
    same, tried = outcome(ours), 0
    for number in range(0, sum(1 for _ in places(ours)), 13):  # every one in turn would cost more than it shows
        changed = copied(ours)
        where, at, argued = list(places(changed))[number]
        if change in (lift, lose_children) and not where[at].children:
            continue
        if change in (reshape, retype, renumber) and not argued:
            continue
        name, tried = where[at].operator.name, tried + 1
        change(where, at)
        assert outcome(changed) != same, name
    assert tried > 10
