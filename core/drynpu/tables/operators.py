"""Operator information reported inside node API calls: type, blocks, shapes, data types, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import polars as pl

from drynpu.arrays import I64, U64, Records
from drynpu.kernels import DTYPES, FORMATS
from drynpu.layouts.tasks import MIX_RATIO_SHIFT, GeTaskType
from drynpu.tables.columns import ordinals
from drynpu.tables.host import Codes, Dictionaries
from drynpu.tables.stored import Filled, Stored, Texts

TASK_TYPES: Mapping[int, str] = MappingProxyType(
    {
        GeTaskType.AI_CORE.value: "AI_CORE",
        GeTaskType.AI_CPU.value: "AI_CPU",
        GeTaskType.AIV.value: "AI_VECTOR_CORE",
        GeTaskType.WRITE_BACK.value: "WRITE_BACK",
        GeTaskType.MIX_AIC.value: "MIX_AIC",
        GeTaskType.MIX_AIV.value: "MIX_AIV",
        GeTaskType.FFTS_PLUS.value: "FFTS_PLUS",
        GeTaskType.DSA.value: "DSA_SQE",
        GeTaskType.DVPP.value: "DVPP",
        GeTaskType.HCCL.value: "COMMUNICATION",
        GeTaskType.FUSION.value: "FUSION",
        GeTaskType.INVALID.value: "INVALID",
    }
)
"""GE task type to the text in op_summary (cann_msprof.md 4.2, 7.3)."""

_FORMAT_NAMES: Mapping[int, str] = MappingProxyType({number: name for name, number in FORMATS.items()})
_DTYPE_NAMES: Mapping[int, str] = MappingProxyType({dtype.ge_id: dtype.name for dtype in DTYPES.values()})
_PART_ROWS = 65_536
SHAPE_COLUMNS = (
    "input_shapes",
    "input_dtypes",
    "input_formats",
    "output_shapes",
    "output_dtypes",
    "output_formats",
)
_TENSORS = ("op_name", "tensor_num", "tensors")
"""Fields of a record of tensors that are used."""
_INFO = pl.Schema(
    {
        "node": pl.Int64,
        **dict.fromkeys(("op_name", "op_type", "task_type"), pl.String),
        **dict.fromkeys(("block_num", "mix_block_num"), pl.Int64),
        "hf32": pl.Boolean,
        "dynamic": pl.Boolean,
        **dict.fromkeys(SHAPE_COLUMNS, pl.String),
    }
)


_REPORTED = {
    "node": "i8",
    "op_name": "u4",
    "op_type": "u4",
    "task_type": "u4",
    "block": "u4",
    "hf32": "?",
    "dynamic": "?",
}

Nodes = Callable[[Records], I64]
"""Returns the row of the node API call around each record, -1 if none."""


def node_info(
    basic: Iterable[tuple[Records, bool]], tensors: Iterable[Records], node_of: Nodes, words: Dictionaries
) -> Stored:
    """
    Return what is known of the operator of each node API call.

    Parameters
    ----------
    basic:
        Parts of the node_basic_info records, and whether they stood in files that age: their shapes were dynamic.
    tensors:
        Parts of the tensor_info records.

    Returns
    -------
    Stored
        One row per ``node`` that reported something, in the order of nodes; text columns are null where there was no
        tensor_info.
    """
    columns = {name: Filled(kind) for name, kind in _REPORTED.items()}
    codes = {name: Codes() for name in ("op_name", "op_type", "task_type")}
    for records, dynamic in basic:
        columns["node"].append(node_of(records))
        for name, known in codes.items():
            columns[name].append(known.add(records[name]))
        columns["block"].append(records["block_dim"])
        columns["hf32"].append((records["op_flag"] & 1).astype(bool))
        columns["dynamic"].append(np.full(len(records), dynamic))
    # A call that launches several kernels of one operator reports it once; later reports add nothing.
    node, first = np.unique(columns.pop("node").values(), return_index=True)
    node, first = node[node >= 0], first[node >= 0]
    reported = {name: columns.pop(name).values()[first] for name in tuple(columns)}
    block = reported.pop("block")
    described = {
        "node": node,
        **{
            name: Texts(pl.Series(reported[name]), known.texts(_words_of(name, words))) for name, known in codes.items()
        },
        "block_num": (block & 0xFFFF).astype(np.uint16),
        "mix_block_num": (block & 0xFFFF) * (block >> MIX_RATIO_SHIFT),
        "hf32": reported["hf32"],
        "dynamic": reported["dynamic"],
    }
    return Stored.from_columns(_INFO, described | _tensor_texts(tensors, node_of, node))


def _words_of(name: str, words: Dictionaries) -> Callable[[int, bool], str]:
    if name == "task_type":
        return lambda value, _: TASK_TYPES.get(value, str(value))
    return lambda value, _: words.hashes.get(value, "")


def distinct_rows(records: Records, fields: Sequence[str] | None = None) -> tuple[I64, I64]:
    """
    Return ``(first, inverse)`` such that ``records[first][inverse]`` equals *records* in *fields* (default: in all).

    Rows are grouped by a 64-bit mix of their words, which is checked against the bytes afterwards: sorting
    numbers is far faster than sorting byte strings. The words are made part by part, twice, because all of them
    would take as much room as the records.
    """
    layout = np.dtype([(name, records.dtype[name]) for name in fields or records.dtype.names or ()])
    width = -(-layout.itemsize // 8)
    odd = np.random.default_rng(0).integers(0, 2**63, width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    parts = [slice(begin, begin + _PART_ROWS) for begin in range(0, len(records), _PART_ROWS)]
    mixed = np.zeros(len(records), np.uint64)
    for part in parts:
        mixed[part] = (_words(records[part], layout) * odd).sum(axis=1, dtype=np.uint64)
    first, inverse = _distinct(mixed)
    sample = _words(records[first], layout)
    if not all((sample[inverse[part]] == _words(records[part], layout)).all() for part in parts):
        # Rows as such are sorted as byte strings; numbers are sorted as numbers only without an axis.
        first, inverse = _distinct(_words(records, layout), axis=0)
    return first, inverse


def _words(records: Records, layout: np.dtype[np.void]) -> U64:
    """Return the fields of *layout* as words of 64 bits, ``[n, words]``; the last is filled up with zeros."""
    content = np.zeros(len(records), layout)
    for name in layout.names or ():
        content[name] = records[name]
    padded = np.zeros((len(records), -(-layout.itemsize // 8) * 8), np.uint8)
    padded[:, : layout.itemsize] = content.view(np.uint8).reshape(len(records), layout.itemsize)
    return padded.view(np.uint64)


def _distinct(values: U64, axis: int | None = None) -> tuple[I64, I64]:
    first, inverse = np.unique(values, axis=axis, return_index=True, return_inverse=True)[1:]
    return first.astype(np.int64), inverse.reshape(-1).astype(np.int64)


def _tensor_texts(parts: Iterable[Records], node_of: Nodes, wanted: I64) -> dict[str, Texts]:
    """Return the six text columns of the nodes *wanted*; the records of one node are joined in file order."""
    nodes_seen, codes_seen = Filled("i8"), Filled("u4")
    known: dict[bytes, int] = {}
    samples: list[np.void] = []
    for records in parts:
        node = node_of(records)
        if (node < 0).any():
            records, node = records[node >= 0], node[node >= 0]
        first, inverse = distinct_rows(records, _TENSORS)
        numbers = np.empty(len(first), np.int64)
        for index, sample in enumerate(records[first]):
            numbers[index] = known.setdefault(b"".join(sample[name].tobytes() for name in _TENSORS), len(known))
            if numbers[index] == len(samples):
                samples.append(sample.copy())
        nodes_seen.append(node)
        codes_seen.append(numbers[inverse])
    node, code = nodes_seen.values(), codes_seen.values().astype(np.int64)
    order = np.argsort(node, kind="stable")
    node, code = node[order], code[order]
    place = ordinals(node)
    nodes = node[place == 0]
    # chains[c] lists the distinct records that make up combination c; nodes refer to combinations.
    chains: list[tuple[int, ...]] = [(int(value),) for value in range(len(samples))]
    chain = code[place == 0]
    for step in range(1, int(place.max(initial=0)) + 1):
        rows = np.searchsorted(nodes, node[place == step])
        pairs, inverse = np.unique(np.stack([chain[rows], code[place == step]], 1), axis=0, return_inverse=True)
        chain[rows] = len(chains) + inverse.reshape(-1)
        chains.extend((*chains[head], int(tail)) for head, tail in pairs.tolist())
    used, position = np.unique(chain, return_inverse=True)
    described = [_describe([samples[part] for part in chains[index]]) for index in used.tolist()]
    lookup = pl.DataFrame(described, schema=dict.fromkeys(SHAPE_COLUMNS, pl.String), orient="row")
    place = np.searchsorted(nodes, wanted)
    there = place < len(nodes)
    there[there] = nodes[place[there]] == wanted[there]
    codes = np.zeros(len(wanted), np.min_scalar_type(len(used)))
    codes[there] = position.reshape(-1)[place[there]]
    shared = pl.select(pl.when(pl.Series(there)).then(pl.Series(codes))).to_series()
    return {name: Texts(shared, lookup[name]) for name in SHAPE_COLUMNS}


def _describe(records: Sequence[np.void]) -> tuple[str, ...]:
    sides: tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]] = ([], [])
    for record in records:
        tensors = record["tensors"][: int(record["tensor_num"])]
        # Column by column: reading the fields of each tensor would take several times as long.
        columns = (tensors[name].tolist() for name in ("direction", "shape", "data_type", "format"))
        for direction, dims, dtype, layout in zip(*columns, strict=True):
            sides[0 if direction == 0 else 1].append((_shape(dims), _dtype(dtype), _format(layout)))
    return tuple(";".join(column) for side in sides for column in (zip(*side, strict=True) if side else ((), (), ())))


def _shape(dims: list[int]) -> str:
    # Unused dimensions are 0, so a dimension of size 0 cannot be told from the end (cann_msprof.md 7.3).
    return ",".join(map(str, dims[: dims.index(0)] if 0 in dims else dims))


def _dtype(number: int) -> str:
    return _DTYPE_NAMES.get(number, str(number))


def _format(number: int) -> str:
    # GE keeps a sub-format above the low byte; real files show it after a colon (``NC1HWC0:1``).
    name, sub = _FORMAT_NAMES.get(number & 0xFF, str(number & 0xFF)), number >> 8 & 0xFFFF
    return f"{name}:{sub}" if sub else name
