"""What operators of a genuine profile launched, and what drynpu would launch for the same calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis import link_operators
from drynpu.arrays import I64
from drynpu.kernels import Operators, Signature
from drynpu.simulate import Planner, Recording, lower
from drynpu.tables import Profile

ReadCall = Callable[[str, str, str], Signature]
"""Returns the call of an operator from its name, data types and shapes as profiles write them."""

_TYPES: Final = pl.List(pl.String())
LAUNCHES: Final = pl.Schema({"operator": pl.String(), "calls": pl.Int64(), "genuine": _TYPES, "predicted": _TYPES})
"""An outermost operator, how often it was called with this result, and the types of its kernels in order of name."""
_NAMESPACE: Final = "::"
"""In the names of the framework's operators, but not in names of ranges that the script or torch_npu set."""


@frozen(eq=False, kw_only=True)
class LaunchComparison:
    """
    Outermost operators whose kernels differ, table :data:`LAUNCHES`, and counts of all of them.

    ``operators`` launched something, here or there; ``equal`` of them the same types. ``missing`` kernels of the
    profile would not have been launched here, ``added`` ones here are not in the profile, of ``kernels`` in all.
    """

    table: pl.DataFrame
    operators: int
    equal: int
    kernels: int
    missing: int
    added: int


def compare_launches(profile: Profile, read: ReadCall, plan: Planner) -> LaunchComparison | None:
    """
    Compare the types of kernels that operators launched with those that the rules give for the same calls.

    A profile has shapes and types of a call but none of its values: what depends on strides, axes or flags may differ.
    Nor does it say which tensors lie on the host, so copies are left out; collectives are, too.

    Returns
    -------
    LaunchComparison | None
        None where the profile has no operators with shapes, or no kernels that are linked to any.
    """
    texts = pl.col("name", "input_dtypes", "input_shapes").cast(pl.String).fill_null("")
    ops = profile.compact("host_ops", "name", "start_ns", "end_ns", "tid", "input_dtypes", "input_shapes")
    ops = ops.with_columns(texts)
    launched = _launched(profile)
    if not launched.height or not (ops["input_shapes"] != "").any():
        return None
    order = np.lexsort((-ops["end_ns"].to_numpy(), ops["start_ns"].to_numpy()))
    rows = ops[order]
    lowered = lower(Recording(operators=_operators(rows, read), begin_ns=0, end_ns=1), plan)
    outermost = _outermost(rows["name"].to_list(), lowered.depth, lowered.parent)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    genuine = _by_operator(outermost[place[launched["op_id"].to_numpy()]], launched["op_type"].to_list())
    copies = np.array([kernel.copy is not None for kernel in lowered.kernels] or [False])
    kept = np.flatnonzero(~copies[lowered.launch_kernel])
    owner = lowered.dispatch_op[lowered.launch_dispatch[kept]]
    types = [lowered.kernels[kernel].op_type for kernel in lowered.launch_kernel[kept].tolist()]
    predicted = _by_operator(outermost[owner], types)
    return _compared(rows["name"].to_list(), genuine, predicted)


def _launched(profile: Profile) -> pl.DataFrame:
    """Return type and operator of every kernel that is linked to one."""
    keys = ["device_id", "stream_id", "task_id", "context_id", "start_ns"]
    kernels = profile.compact("kernels", *keys, "op_type")
    linked = link_operators(profile).kernel_op.filter(pl.col("kind") == "kernel")
    return linked.join(kernels, on=keys, how="left", maintain_order="left").select(
        "op_id", pl.col("op_type").cast(pl.String).fill_null("N/A")
    )


def _operators(rows: pl.DataFrame, read: ReadCall) -> Operators:
    """Return operators in order of start, each with its call; ranges that are no operators have none."""
    names: dict[str, int] = {}
    calls: dict[Signature, int] = {}
    name, call = np.zeros((2, rows.height), np.int32)
    for number, (text, dtypes, shapes) in enumerate(rows.select("name", "input_dtypes", "input_shapes").iter_rows()):
        name[number] = names.setdefault(text, len(names))
        is_call = _NAMESPACE in text and " " not in text
        call[number] = calls.setdefault(read(text, dtypes, shapes), len(calls)) if is_call else -1
    nothing = np.zeros(rows.height, np.int64)
    return Operators(
        names=tuple(names),
        name=name,
        start_ns=rows["start_ns"].to_numpy(),
        end_ns=rows["end_ns"].to_numpy(),
        thread=rows["tid"].to_numpy(),
        fwd_thread=nothing,
        sequence=nothing - 1,
        scope=nothing.astype(np.uint8),
        signature=call,
        signatures=tuple(calls),
    )


def _outermost(names: Sequence[str], depth: I64, parent: I64) -> I64:
    """Return the outermost operator of the framework around each row, ``[n]``; -1 for none."""
    operator = np.where([_NAMESPACE in name for name in names], np.arange(len(names)), -1)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        around = operator[parent[rows]]
        operator[rows] = np.where(around >= 0, around, operator[rows])
    return np.asarray(operator, np.int64)


def _by_operator(owner: I64, types: Sequence[str]) -> dict[int, Counter[str]]:
    kernels: dict[int, Counter[str]] = {}
    for row, kind in zip(owner.tolist(), types, strict=True):
        kernels.setdefault(row, Counter())[kind] += 1
    kernels.pop(-1, None)
    return kernels


def _compared(
    names: Sequence[str], genuine: dict[int, Counter[str]], predicted: dict[int, Counter[str]]
) -> LaunchComparison:
    rows = sorted(genuine.keys() | predicted.keys())
    nothing: Counter[str] = Counter()
    pairs = {row: (genuine.get(row, nothing), predicted.get(row, nothing)) for row in rows}
    differing = Counter(
        (names[row], tuple(sorted(there.elements())), tuple(sorted(here.elements())))
        for row, (there, here) in pairs.items()
        if there != here
    )
    table = [(name, calls, list(there), list(here)) for (name, there, here), calls in differing.most_common()]
    return LaunchComparison(
        table=pl.DataFrame(table, schema=LAUNCHES, orient="row"),
        operators=len(rows),
        equal=sum(there == here for there, here in pairs.values()),
        kernels=sum(there.total() for there, _ in pairs.values()),
        missing=sum((there - here).total() for there, here in pairs.values()),
        added=sum((here - there).total() for there, here in pairs.values()),
    )
