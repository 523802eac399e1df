"""Memory that follows from graphs: tensors of small graphs by hand, of any graph, and of those that MindSpore saves."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.by_hand import call_table

from drynpu.device import BEST_FIT_POOL, account, pair
from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._describe import node_signature
from drynpu_mindspore.capture._ir import GraphNode
from drynpu_mindspore.capture._memory import GraphMemory
from drynpu_mindspore.capture._wiring import GraphParameter, KernelGraph
from drynpu_mindspore.rules import NOTHING, signature

STEP_NS, LENGTH_NS, THREAD = 1000, 600, 7


def f32(*shape):
    return TensorDesc(shape, "FLOAT")


SMALL, BIG = f32(25), f32(100, 10)
"""100 and 4000 bytes."""


def graph(nodes, results=(), **parameters):
    """
    Return a graph; a node is its name, primitive, what it reads, what it returns and its attributes.

    Parameters are inputs; a name that begins with ``w`` is one of the network. They and nodes are read by name.
    """
    labels = {name: f"%para_{name}" for name in parameters} | {name: f"%{i}" for i, (name, *_) in enumerate(nodes)}
    tensors, made = dict(parameters), []
    for name, primitive, reads, outputs, *further in nodes:
        inputs = tuple(tensors.get(read) for read in reads)
        arguments = further[1] if len(further) > 1 else (None,) * len(reads)
        operands = tuple(labels.get(read, read) for read in reads)
        made.append(
            GraphNode(
                name=f"Default/{name}",
                primitive=primitive,
                inputs=inputs,
                outputs=None if outputs is None else tuple(outputs),
                attrs=tuple(further[0].items()) if further else (),
                arguments=arguments,
                label=labels[name],
                operands=operands,
                in_place=primitive == "Assign",
            )
        )
        tensors[name] = outputs[0] if outputs and len(outputs) == 1 else None
    given_ = tuple(
        GraphParameter(labels[name], tensor, name if name.startswith("w") else "")
        for name, tensor in parameters.items()
    )
    return KernelGraph(given_, tuple(made), tuple(labels[name] for name in results))


def table(launches):
    """Return launches, given as names with signatures, one every microsecond."""
    names = list(dict.fromkeys(name for name, _ in launches))
    signatures = list(dict.fromkeys(call for _, call in launches))
    start = np.arange(len(launches), dtype=np.int64) * STEP_NS
    return call_table(
        tuple(names),
        np.array([names.index(name) for name, _ in launches], np.int32),
        start,
        start + LENGTH_NS,
        tuple(signatures),
        signature=np.array([signatures.index(call) for _, call in launches], np.int32),
        texts=(("", ""),) * len(signatures),
        thread=THREAD,
    )


def launches(of, order=None):
    """Return the launches of one run, as a rule in the order of the nodes."""
    by_name = {node.name.removeprefix("Default/"): node for node in of.nodes if node.primitive not in NOTHING}
    chosen = by_name.values() if order is None else [by_name[name] for name in order.split()]
    return [(node.name, node_signature(node)) for node in chosen]


def modelled(graphs, *runs):
    graphs = (graphs,) if isinstance(graphs, KernelGraph) else tuple(graphs)
    return GraphMemory(graphs=graphs).model(table([launch for run in runs for launch in run]))


def story(model):
    """Return what happens, by the number of the launch at whose start it does or, with ``'``, which it follows."""
    told = []
    of = model.allocations
    for time, size in zip(of.time_ns.tolist(), of.size_bytes.tolist(), strict=True):
        step, rest = divmod(time, STEP_NS)
        assert rest == (0 if size > 0 else LENGTH_NS + 1)
        told.append(f"{step}{chr(39) if rest else ''} {size:+}")
    return told


def timeline(model):
    of = model.allocations
    return account(
        of.time_ns,
        of.thread,
        of.address,
        of.size_bytes,
        live_before_bytes=model.live_before_bytes,
        pool=BEST_FIT_POOL,
    )


CHAIN = graph(
    [("a", "ReLU", ["x"], [SMALL]), ("b", "Exp", ["a"], [BIG]), ("c", "ReduceSum", ["b"], [SMALL])], ["c"], x=SMALL
)


def test_a_chain_frees_what_was_read_and_keeps_its_result():
    model = modelled(CHAIN, launches(CHAIN))
    assert story(model) == ["0 +100", "0 +100", "0' -100", "1 +4000", "1' -100", "2 +100", "2' -4000"]
    assert model.live_before_bytes == 0
    assert model.notes == ()
    # 100 bytes are a block of 512, 4000 one of 4096 + 512 with its padding; the peak is b beside a or c.
    assert timeline(model).allocated_bytes.max() == 512 + 4096
    assert set(model.allocations.thread.tolist()) == {THREAD}


DIAMOND = graph(
    [
        ("a", "Exp", ["x"], [BIG]),
        ("b", "ReLU", ["a"], [SMALL]),
        ("c", "Tanh", ["a"], [SMALL]),
        ("d", "Add", ["b", "c"], [SMALL]),
    ],
    x=SMALL,
)


@pytest.mark.parametrize("order", ["a b c d", "a c b d"])
def test_what_two_nodes_read_is_freed_after_the_later(order):
    model = modelled(DIAMOND, launches(DIAMOND, order))
    # Nobody reads d, so it is freed with the launch that made it.
    assert story(model)[3:] == ["1 +100", "2 +100", "2' -4000", "3 +100", "3' -100", "3' -100", "3' -100"]


def test_an_optimizer_allocates_nothing_and_parameters_stay():
    step = graph(
        [
            ("load", "Load", ["weight"], [BIG]),
            ("y", "Exp", ["load"], [SMALL]),
            ("g", "ExpGrad", ["y", "load"], [BIG]),
            ("count", "Assign", ["wcount", "Tensor(shape=[1], dtype=Int32, value=[1])"], [f32(1)]),
            ("opt", "ApplyMomentum", ["weight", "wmoment", "g"], [BIG], {"side_effect_mem": True}),
            ("norm", "BatchNorm", ["y", "weight"], [SMALL, BIG], {"side_effect_mem": True}),
        ],
        weight=BIG,
        wmoment=BIG,
        wcount=f32(1),
    )
    model = modelled(step, launches(step))
    # The results of the batch norm are not what it writes.
    assert story(model) == [
        *("0 +100", "1 +4000", "3' -4000", "4 +100", "4 +4000", "4' -100", "4' -100", "4' -4000"),
    ]
    assert model.live_before_bytes == 2 * 4096 + 2 * 512
    assert timeline(model).allocated_bytes[-1] == model.live_before_bytes


def test_the_result_of_a_run_is_held_until_the_next_has_ended():
    model = modelled(CHAIN, launches(CHAIN), launches(CHAIN), launches(CHAIN))
    told = story(model)
    assert [line for line in told if line.startswith("5")] == ["5 +100", "5' -4000", "5' -100"]
    assert [line for line in told if line.startswith("8")] == ["8 +100", "8' -4000", "8' -100"]
    partner = pair(model.allocations.address, model.allocations.size_bytes)
    (open_,) = np.flatnonzero(partner < 0).tolist()
    assert (model.allocations.time_ns[open_], model.allocations.size_bytes[open_]) == (8 * STEP_NS, 100)


def test_graphs_of_equal_names_and_shapes_are_told_apart_by_their_nodes():
    training = graph(
        [("a", "ReLU", ["x"], [SMALL]), ("b", "Exp", ["a"], [SMALL]), ("g", "ExpGrad", ["b", "a"], [BIG])],
        ["g"],
        x=SMALL,
        w1=BIG,
    )
    inference = graph([("a", "ReLU", ["x"], [SMALL]), ("b", "Exp", ["a"], [SMALL])], ["b"], x=SMALL)
    for graphs in ([training, inference], [inference, training]):
        first = modelled(graphs, launches(inference), launches(training), launches(inference))
        # a is freed after b where nothing else reads it, else after g.
        # What the first inference returned is held until the second has ended.
        assert [line for line in story(first) if "'" in line] == [
            *("0' -100", "1' -100", "2' -100", "4' -100", "4' -100", "5' -100", "6' -100", "6' -100"),
        ]
        assert first.live_before_bytes == 4096
        alone = modelled(graphs, launches(inference))
        assert story(alone) == ["0 +100", "0 +100", "0' -100", "1 +100", "1' -100"]
        assert alone.live_before_bytes == 0


def test_other_shapes_are_another_graph():
    wide = graph([("a", "ReLU", ["x"], [BIG])], ["a"], x=BIG)
    narrow = graph([("a", "ReLU", ["x"], [SMALL])], ["a"], x=SMALL)
    model = modelled([wide, narrow], launches(narrow), launches(wide))
    assert story(model) == ["0 +100", "0 +100", "0' -100", "1 +4000", "1 +4000", "1' -4000"]


def test_a_run_that_broke_off_frees_everything_at_its_end():
    model = modelled(DIAMOND, launches(DIAMOND, "a b"), launches(DIAMOND))
    assert [line for line in story(model) if "'" in line][:3] == ["0' -100", "1' -4000", "1' -100"]
    assert model.allocations.size_bytes.sum() == 0


def test_views_hold_what_they_show():
    split = graph(
        [
            ("pair", "LayerNorm", ["x"], [SMALL, BIG]),
            ("first", "TupleGetItem", ["pair", "1"], [SMALL], {}, (None, 0)),
            ("flat", "Reshape", ["first"], [f32(5, 5)]),
            ("after", "Depend", ["flat", "y"], [f32(5, 5)]),
            ("y", "Tanh", ["x"], [SMALL]),
            ("z", "Exp", ["after"], [SMALL]),
            ("out", "MakeTuple", ["after"], [f32(5, 5)]),
        ],
        ["out"],
        x=SMALL,
    )
    model = modelled(split, launches(split), launches(split))
    # The second result of the norm is read by nobody; the first, reshaped, is what the graph returns.
    assert story(model)[:6] == ["0 +100", "0 +100", "0 +4000", "0' -4000", "1 +100", "1' -100"]
    assert sum(model.allocations.size_bytes.tolist()) == 100


def test_what_is_not_known_is_left_out_and_said():
    step = graph([("a", "Unique", ["x"], None), ("b", "ReLU", ["x"], [SMALL])], x=SMALL)
    cast = ("Default/Cast-op0", signature("Cast", [SMALL], [SMALL]))
    model = modelled(step, launches(step), [cast, cast, ("Default/Reshape-op0", signature("Reshape", [SMALL]))])
    assert story(model) == ["0 +100", "1 +100", "1' -100", "1' -100"]
    assert model.notes == (
        "the memory of launches outside of saved graphs is not in the totals: Cast (2)",
        "the memory of results of unknown shape is not in the totals: Unique",
    )
    nothing = modelled(step, [cast])
    assert len(nothing.allocations) == 0
    (note,) = nothing.notes
    assert note.endswith("no launch belongs to a graph that was saved with its shapes")
    assert modelled(step, []).notes == ()


@st.composite
def executions(draw):
    """Runs of a graph, and the same told by hand: what is live after each launch."""
    count = draw(st.integers(1, 8))
    sizes = draw(st.lists(st.sampled_from([1, 100, 1000, 5000]), min_size=count, max_size=count))
    nodes, reads = [], {}
    for number in range(count):
        earlier = ["x", *(f"n{i}" for i in range(number))]
        reads[f"n{number}"] = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=3))
        nodes.append((f"n{number}", "AddN", reads[f"n{number}"], [f32(sizes[number])]))
    results = draw(st.lists(st.sampled_from([name for name, *_ in nodes]), max_size=2, unique=True))
    made = graph(nodes, results, x=SMALL)
    runs = []
    for _ in range(draw(st.integers(1, 3))):
        waiting, order = [name for name, *_ in nodes], []
        while waiting:
            ready = [name for name in waiting if not set(reads[name]) & set(waiting)]
            order.append(draw(st.sampled_from(ready)))
            waiting.remove(order[-1])
        runs.append(order)
    return made, runs, reads, {f"n{i}": 4 * size for i, size in enumerate(sizes)} | {"x": 100}, results


@given(executions())
def test_nothing_is_lost_and_the_totals_are_those_of_an_execution_by_hand(case):
    made, runs, reads, sizes, results = case
    model = modelled(made, *(launches(made, " ".join(order)) for order in runs))
    of = model.allocations
    assert of.size_bytes.sum() == sum(sizes[name] for name in results)
    assert (np.diff(of.time_ns) >= 0).all()
    held = np.cumsum(of.size_bytes)
    assert (held >= 0).all()
    # An address is used by one tensor at a time, and what is released is what was allocated there.
    live = {}
    for address, size in zip(of.address.tolist(), of.size_bytes.tolist(), strict=True):
        if size > 0:
            assert live.setdefault(address, size) is size
        else:
            assert live.pop(address) == -size
    row = 0
    old: set[str] = set()
    for order in runs:
        open_ = {"x"} if any("x" in reads[name] for name in order) else set()
        waiting = {name: {other for other in order if name in reads[other]} for name in sizes}
        for name in order:
            open_ |= {name}
            during = held[np.searchsorted(of.time_ns, row * STEP_NS, side="right") - 1]
            assert during == sum(sizes[one] for one in open_) + sum(sizes[one] for one in old)
            for readers in waiting.values():
                readers.discard(name)
            open_ = {one for one in open_ if waiting[one] or one in results}
            row += 1
        old = set(results)


def lasting(case):
    """Bytes of parameters and optimizer states of the networks of ``workloads.py``, by the shapes of their layers."""
    shapes, states = case
    return (1 + states) * sum((4 * prod(shape) + 543) // 512 * 512 for shape in shapes)


MLP = [(32, 16), (32,), (4, 32), (4,)]


def test_graphs_of_mindspore(workloads):
    found = workloads("graph")
    for name, launched in (("mlp_sgd", 2), ("again", 2), ("mlp_mse", 2), ("lenet", 2), ("block", 2), ("inference", 1)):
        captured = found[name][1]
        model = captured.memory.model(captured.operators)
        assert model.notes == (), name
        totals = timeline(model)
        assert (totals.allocated_bytes >= model.live_before_bytes).all()
        assert totals.partner.tolist().count(-1) == 1, "the loss of the last step, or what inference returned"
        partner = np.flatnonzero(totals.partner < 0)
        assert totals.allocated_bytes[-1] == model.live_before_bytes + totals.size_bytes[partner].sum()
        inputs = np.unique(model.allocations.time_ns[model.allocations.size_bytes > 0])
        assert len(inputs) >= launched * 3
    inference = found["inference"][1]
    assert inference.memory.model(inference.operators).live_before_bytes == lasting((MLP, 0))
    # A moment and, beside them, learning rate, momentum, global step and what is added to it.
    sgd = found["mlp_sgd"][1]
    more = sgd.memory.model(sgd.operators).live_before_bytes - lasting((MLP, 1))
    assert more > 0
    assert more % 512 == 0
    assert found["failing"][1].memory.model(found["failing"][1].operators).live_before_bytes == 0


def test_pynative_leaves_memory_out_and_says_so(workloads):
    training, inference = (workloads("pynative")[name][1] for name in ("mlp_sgd", "inference"))
    for captured, words in ((training, "PyNative tells nothing"), (inference, "no launch belongs to a graph")):
        model = captured.memory.model(captured.operators)
        assert len(model.allocations) == 0
        (note,) = model.notes
        assert words in note
