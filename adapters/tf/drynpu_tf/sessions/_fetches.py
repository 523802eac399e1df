"""
What a run fetches: the key that tells runs apart, and whether a device makes the run several times over.

Training loops are sunk to a device: the graph engine repeats a graph that holds an operator called ``IterationOp``
(tf_adapter geop_npu.cc AddNodeAttrs), as often as the variables of the session say (``iterations_per_loop``). It needs
its data from a queue for that, and stops at a one-shot iterator (om_partition_subgraphs_pass.cc ProcessGraph).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drynpu import say_once
from drynpu_tf.capture import RunKey
from drynpu_tf.foreign import Feeds, Fetches, Graph, Operation

_LOOP = "IterationOp"
_ONE_SHOT = "OneShotIterator"


def run_key(fetches: Fetches, feed_dict: Feeds) -> RunKey:
    """Return the key of ``run(fetches, feed_dict)``; the order of fetches matters, the order of feeds does not."""
    feeds = feed_dict if issubclass(type(feed_dict), Mapping) else {}
    return ("run", tuple(_flat(fetches)), frozenset(map(_name, feeds)))


def names_key(fetches: Iterable[str], targets: Iterable[str], feeds: Iterable[str]) -> RunKey:
    """Return the key of a callable that TensorFlow makes from names of fetches, targets and feeds."""
    return ("callable", tuple(fetches), tuple(targets), tuple(feeds))


def fetched_names(key: RunKey) -> tuple[str, ...]:
    """Return what a run with a key of this module fetches, and the targets that it runs, by name."""
    kind, fetched, *rest = key
    targets = rest[0] if kind == "callable" else ()
    return tuple(name for part in (fetched, targets) if isinstance(part, tuple) for name in part)


def _flat(fetches: Fetches) -> list[str]:
    kind = type(fetches)  # isinstance would ask the script's object for its class
    if issubclass(kind, Mapping):
        return [name for value in fetches.values() for name in _flat(value)]
    if issubclass(kind, (list, tuple)):
        return [name for value in fetches for name in _flat(value)]
    return [_name(fetches)]


def _name(element: object) -> str:
    """Return the name of a tensor, an operation or a variable; type and identity of anything else."""
    if issubclass(type(element), (str, bytes)):
        return element if isinstance(element, str) else element.decode(errors="backslashreplace")  # type: ignore[attr-defined]
    try:
        name = getattr(element, "name", None)
    except Exception:  # noqa: BLE001 - an object of the script, which a run must not fall over
        name = None
    return name if type(name) is str else f"{type(element).__name__}@{id(element)}"


def loops_on_device(graph: Graph, fetched: Iterable[str], *, sinks_data: bool) -> bool:
    """
    Return whether a device repeats a run of *graph*; print why not where the script expects it to.

    Parameters
    ----------
    fetched:
        Names of the tensors and operations that the run fetches; other names are ignored.
    sinks_data:
        Whether graphs take their data from a queue on the device (``enable_data_pre_proc``).
    """
    try:
        graph.get_operation_by_name(_LOOP)
    except KeyError:
        return False
    reached = _reached(graph, fetched)
    if not any(operation.name == _LOOP for operation in reached):
        return False
    if any(operation.type == _ONE_SHOT for operation in reached):
        say_once(
            "iterations_per_loop: with a one-shot iterator an NPU takes 1 only (make_initializable_iterator serves "
            "more); a run makes one training step."
        )
        return False
    if not sinks_data:
        say_once(
            "iterations_per_loop: several training steps in a run need enable_data_pre_proc, which is not set; a run "
            "makes one training step."
        )
    return sinks_data


def _reached(graph: Graph, fetched: Iterable[str]) -> set[Operation]:
    """Return every operation that a run executes for what it fetches, whatever is fed."""
    todo = [operation for name in fetched for operation in _operations(graph, name)]
    seen = set(todo)
    while todo:
        operation = todo.pop()
        for before in (*(tensor.op for tensor in operation.inputs), *operation.control_inputs):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return seen


def _operations(graph: Graph, name: str) -> list[Operation]:
    try:
        element = graph.as_graph_element(name)
    except (KeyError, ValueError):
        return []
    return [getattr(element, "op", element)]
