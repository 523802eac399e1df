"""
Step stats of many runs of one graph (``step_stats.proto``), read in columns.

Of every node: which one it is, when its operator began and ended, and whether the shapes it left are those of another
run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu_tf.capture._name_table import NameTable, hashes
from drynpu_tf.capture._wire import Fields, Wire

__all__ = ["NodeTimes"]

I64 = npt.NDArray[np.int64]

_METADATA_STEP_STATS, _STATS_DEVICES, _DEVICE_NODES = 1, 1, 2
_NODE_NAME, _NODE_OUTPUT, _NODE_START_NS, _NODE_OP_START_NS, _NODE_OP_END_NS = 1, 7, 13, 14, 15
_OUTPUT_SLOT, _OUTPUT_TENSOR, _TENSOR_SHAPE = 1, 3, 2
"""Numbers of fields."""


@frozen(eq=False)
class NodeTimes:
    """
    The nodes that runs executed, run by run and in each by ``(start_ns, -end_ns)``; columns have shape ``[n]``.

    ``shapes`` has for every run what tells the shapes of its watched nodes from others.
    """

    run: I64
    node: I64
    start_ns: I64
    end_ns: I64
    shapes: tuple[bytes, ...]

    @classmethod
    def read(cls, contents: Sequence[bytes], names: NameTable, watched: npt.NDArray[np.bool_]) -> NodeTimes:
        """
        Read serialised ``RunMetadata``.

        Nodes that *names* does not have are left out; *watched* says of which the shapes matter.

        Raises
        ------
        ValueError
            The bytes are none.
        """
        wire = Wire.of(b"".join(contents))
        end = np.cumsum([len(content) for content in contents], dtype=np.int64)
        begin = np.append(0, end)[: len(contents)].astype(np.int64)
        run, stats, stats_end = _sorted(wire.fields(begin, end), _METADATA_STEP_STATS)
        owner, device, device_end = _sorted(wire.fields(stats, stats_end), _STATS_DEVICES)
        run = run[owner]
        nodes = wire.repeated(device, device_end, _DEVICE_NODES)
        run = run[nodes.message]
        fields = wire.fields(nodes.begin, nodes.end)
        message, name, name_end = fields.of(_NODE_NAME)
        node = np.full(len(run), -1, np.int64)
        node[message] = names.find(wire, name, name_end)
        base = fields.column(_NODE_START_NS, len(run))
        start = base + fields.column(_NODE_OP_START_NS, len(run))
        stop = base + fields.column(_NODE_OP_END_NS, len(run))
        known = np.flatnonzero(node >= 0)
        order = known[np.lexsort((-stop[known], start[known], run[known]))]
        return cls(
            run=run[order],
            node=node[order],
            start_ns=start[order],
            end_ns=np.maximum(stop, start)[order],
            shapes=_shapes(wire, fields, run, node, watched, len(contents)),
        )


def _sorted(fields: Fields, number: int) -> tuple[I64, I64, I64]:
    """Return the messages in fields of one number in the order of their bytes."""
    message, begin, end = fields.of(number)
    order = np.argsort(begin)
    return message[order], begin[order], end[order]


def _shapes(
    wire: Wire, fields: Fields, run: I64, node: I64, watched: npt.NDArray[np.bool_], runs: int
) -> tuple[bytes, ...]:
    """Return for every run the shapes of its watched nodes, spelled by numbers that stand for them."""
    message, begin, end = _sorted(fields, _NODE_OUTPUT)
    kept = np.flatnonzero(np.append(watched, False)[node[message]])
    message, begin, end = message[kept], begin[kept], end[kept]
    outputs = wire.fields(begin, end)
    owner, tensor, tensor_end = outputs.of(_OUTPUT_TENSOR)
    shape_owner, shape, shape_end = wire.fields(tensor, tensor_end).of(_TENSOR_SHAPE)
    spelled = np.zeros(len(kept), np.uint64)
    spelled[owner[shape_owner]] = hashes(wire, shape, shape_end)
    slot = outputs.column(_OUTPUT_SLOT, len(kept))
    table = np.column_stack([run[message], node[message], slot, spelled.view(np.int64)])
    table = table[np.lexsort((slot, node[message], run[message]))]
    # In a loop the last turn that left an output counts.
    last = np.append((table[1:, :3] != table[:-1, :3]).any(axis=1), True)[: len(table)]
    table = table[last]
    bounds = np.searchsorted(table[:, 0], np.arange(runs + 1)).tolist()
    return tuple(table[low:high, 1:].tobytes() for low, high in pairwise(bounds))
