"""How long the work of a run takes on a changed device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis.communication import OPERATOR_KEY
from drynpu.arrays import F64, I64
from drynpu.device.collectives import CollectiveRequest
from drynpu.kernels import KernelSpec, cost
from drynpu.platforms import Chip
from drynpu.tables import Profile
from drynpu_pages.critical import Work
from drynpu_pages.whatif._collectives import OperationRow, collective_times, group_ranks, request_of
from drynpu_pages.whatif._specs import DESCRIBED, copy_work, described_work

_PLACE = [*OPERATOR_KEY[:1], "stream_id", "start_ns"]
_UNKNOWN = -1
_ITSELF = "ON_CHIP"
"""Link of tasks by which a rank copies within itself."""


@frozen
class Coverage:
    """
    How much of a run's work the model knows: times in us, of the recording.

    ``ratio``: recorded time of the kernels that it knows by the model's on the recorded chip; ``None`` for none.
    """

    kernels_us: float
    known_us: float
    ratio: float | None
    collectives: int
    known_collectives: int


@frozen(eq=False)
class Described:
    """
    The work of a run with what is known of it.

    Attributes
    ----------
    spec:
        Place in ``specs`` of each entry, ``[n]``; -1 where nothing is known, and of collectives.
    request:
        Place in ``requests`` of each entry, ``[n]``; -1 likewise.
    """

    spec: I64
    specs: Sequence[KernelSpec] = field(repr=False)
    request: I64
    requests: Sequence[CollectiveRequest] = field(repr=False)


def described(profile: Profile, work: Work) -> Described:
    """Return what the files say of the *work* of a profile."""
    spec, specs = _kernels(profile, work)
    request, requests = _collectives(profile, work)
    return Described(spec, specs, request, requests)


def coverage(work: Work, known: Described, chip: Chip) -> Coverage:
    """Return how much of *work* is known, and how the model's times on the recorded *chip* compare."""
    took = (work.end - work.start) / 1000
    is_collective = work.rows["is_collective"].to_numpy()
    kernels = ~is_collective & ~work.is_wait
    model = _costs(known, chip)[known.spec] / 1000
    there = (known.spec >= 0) & (model > 0)
    known_us = float(took[there].sum())
    return Coverage(
        kernels_us=float(took[kernels].sum()),
        known_us=known_us,
        ratio=known_us / float(model[there].sum()) if there.any() else None,
        collectives=int(is_collective.sum()),
        known_collectives=int((known.request >= 0).sum()),
    )


def changed_ns(work: Work, known: Described, recorded: Chip, changed: Chip) -> I64:
    """
    Return how long each entry takes on the *changed* chip, ns, ``[n]``.

    A kernel takes what the model says of it there, as many times as long as it took of what the model says of it on the
    *recorded* chip. A collective takes what its plan takes there, and what it took beyond its plan: waiting for others.
    What the files do not describe takes as long as recorded.
    """
    took = (work.end - work.start).astype(np.float64)
    before, after = _costs(known, recorded)[known.spec], _costs(known, changed)[known.spec]
    there = (known.spec >= 0) & (before > 0) & (after != before)
    new = np.where(there, took * after / np.where(there, before, 1.0), took)
    planned, faster = (_plans(known, chip)[known.request] for chip in (recorded, changed))
    moved = (known.request >= 0) & (planned > 0) & (faster != planned)
    share = np.minimum(took / np.where(moved, planned, 1.0), 1.0)
    new = np.where(moved, np.maximum(took - planned, 0) + faster * share, new)
    # A kernel ends on the tick after its work is done.
    tick = changed.tick_ns
    return np.where(there | moved, np.ceil(new / tick) * tick, took).astype(np.int64)


def model_ns(known: Described, chip: Chip) -> F64:
    """Return what the model says of each entry on a chip, ns, ``[n]``; 0 where it does not know it."""
    # Each entry is a kernel, a collective or not known; of what it is not, the place is the last one, which is 0.
    return _costs(known, chip)[known.spec] + _plans(known, chip)[known.request]


def _costs(known: Described, chip: Chip) -> F64:
    """Return the time of each kernel on a chip, ns, with 0 at the end for those that are not known."""
    return np.array([*(cost(spec, chip).duration_ns for spec in known.specs), 0.0])


def _plans(known: Described, chip: Chip) -> F64:
    takes = collective_times(chip)
    return np.array([*(takes(request) for request in known.requests), 0.0])


def _kernels(profile: Profile, work: Work) -> tuple[I64, list[KernelSpec]]:
    """Return the spec of each entry, -1 for none, and the specs."""
    rows = work.rows.select("item", "row", *_PLACE).filter(~work.rows["is_collective"])
    within = (int(work.start.min()), int(work.start.max()))
    kernels = profile.compact("kernels", *_PLACE, *DESCRIBED).filter(pl.col("start_ns").is_between(*within))
    distinct = kernels.select(DESCRIBED).unique(maintain_order=True).with_row_index("kind")
    kinds = kernels.join(distinct, on=list(DESCRIBED), how="left", nulls_equal=True, maintain_order="left")
    kinds = kinds.select(*_PLACE, pl.col("kind").cast(pl.Int64)).unique(_PLACE)
    texts = distinct.with_columns(pl.col(pl.Categorical).cast(pl.String))
    every = described_work(profile, texts, within)
    specs = [spec for spec in every if spec is not None]
    place = np.cumsum([spec is not None for spec in every]) - 1
    number = np.where([spec is not None for spec in every], place, _UNKNOWN) if every else np.zeros(0, np.int64)
    of_kernel = rows.join(kinds, on=_PLACE, how="left", maintain_order="left")["kind"].fill_null(_UNKNOWN).to_numpy()
    spec = np.full(len(work.start), _UNKNOWN, np.int64)
    there = of_kernel >= 0
    spec[rows["item"].to_numpy()[there]] = number[of_kernel[there]]
    return _with_copies(profile, rows.filter(~pl.Series(there, dtype=pl.Boolean)), spec, specs)


def _with_copies(
    profile: Profile, rows: pl.DataFrame, spec: I64, specs: list[KernelSpec]
) -> tuple[I64, list[KernelSpec]]:
    """Return *spec* and *specs* with copies between host and device, which are no kernels."""
    copied = rows.hstack(profile.rows("tasks", rows["row"]).select("copy_bytes", "copy_kind")).drop_nulls()
    for (size, kind), part in copied.group_by("copy_bytes", "copy_kind", maintain_order=True):
        work = copy_work(int(str(size)), int(str(kind)))
        if work is not None:
            spec[part["item"].to_numpy()] = len(specs)
            specs.append(work)
    return spec, specs


def _collectives(profile: Profile, work: Work) -> tuple[I64, list[CollectiveRequest]]:
    """Return the request of each entry, -1 for none, and the distinct requests."""
    request = np.full(len(work.start), _UNKNOWN, np.int64)
    places: dict[CollectiveRequest, int] = {}
    operations = profile.communication_ops
    if operations.is_empty():
        return request, []
    groups, rank = group_ranks(profile), profile.rank_id
    rows = operations.join(_peers(profile), on=OPERATOR_KEY, how="left", maintain_order="left")
    items = dict(work.rows.filter("is_collective").select("row", "item").iter_rows())
    columns = ("op_type", "group", "dtype", "count", "rank_size", "others")
    for row, (op_type, group, dtype, count, size, others) in enumerate(rows.select(columns).iter_rows()):
        request_again = request_of(OperationRow(op_type, group, dtype, count, size, tuple(others or ())), groups, rank)
        if request_again is not None and row in items:
            request[items[row]] = places.setdefault(request_again, len(places))
    return request, list(places)


def _peers(profile: Profile) -> pl.DataFrame:
    """Return the ranks that the tasks of each operation name."""
    tasks = profile.frame("communication_tasks") if "communication_tasks" in profile.schemas else pl.DataFrame()
    if tasks.is_empty():
        schema = {name: profile.communication_ops.schema[name] for name in OPERATOR_KEY}
        return pl.DataFrame(schema={**schema, "others": pl.List(pl.Int64)})
    others = tasks.filter((pl.col("dst_rank") >= 0) & (pl.col("link") != _ITSELF))
    return others.group_by(OPERATOR_KEY).agg(pl.col("dst_rank").unique().sort().alias("others"))
