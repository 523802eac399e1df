"""Turns of loops: which stats of a node belong together when a node ran more than once in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drynpu.arrays import I32, I64


def spelled(node: Any) -> tuple[bytes, ...]:
    """Return the shapes of a node's outputs as they are written: all that is needed to tell them from others."""
    return tuple([output.tensor_description.shape.SerializeToString() for output in node.output])


def stats_of_turns(executed: Sequence[Any], watched: frozenset[str]) -> list[dict[str, Any]]:
    """
    Return the stats of every node by name: once, or for every turn of loops whose shapes differ between turns.

    In turn *n* a node has its n-th stats, or its last where it ran less often. Turns of a loop inside another are
    counted through, so that an input from the outer loop may be that of another turn there.

    Parameters
    ----------
    executed:
        The ``NodeExecStats`` of a run.
    watched:
        Names of the nodes whose shapes can differ.
    """
    last: dict[str, Any] = {}
    again: dict[str, list[Any]] = {}
    for node in executed:
        name = node.node_name
        if name in last:
            again.setdefault(name, [last[name]]).append(node)
        last[name] = node
    if not any(name in watched and len(set(map(spelled, found))) > 1 for name, found in again.items()):
        return [last]
    for found in again.values():
        found.sort(key=_start_ns)
    count = max(map(len, again.values()))
    return [last | {name: found[min(turn, len(found) - 1)] for name, found in again.items()} for turn in range(count)]


def _start_ns(node: Any) -> int:
    return int(node.all_start_nanos + node.op_start_rel_nanos)


def occurrence(node: I32) -> I64:
    """Return for the numbers of nodes, in the order in which they ran, how often each had run before."""
    order = np.argsort(node, kind="stable")
    first = np.searchsorted(node[order], node[order], side="left")
    found = np.empty(len(node), np.int64)
    found[order] = np.arange(len(node)) - first
    return found
