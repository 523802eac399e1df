"""What kernels and collectives took, what the model says of them, and what they take after a change, by type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from drynpu.arrays import I64
from drynpu.platforms import Chip
from drynpu_pages.critical import Work
from drynpu_pages.whatif._times import Described, model_ns

TYPE_TIMES = pl.Schema(
    {
        "type": pl.String,  # "" of all that the model does not know
        "count": pl.Int64,
        "recorded_us": pl.Float64,
        "model_us": pl.Float64,  # on the recorded chip, without waits for other ranks; null where it is not known
        "ratio": pl.Float64,  # recorded by the model
        "after_us": pl.Float64,
    }
)
"""One row for each type of kernel or collective, the longest of the recording first."""


def type_times(work: Work, known: Described, chip: Chip, length: I64) -> pl.DataFrame:
    """
    Return table :data:`TYPE_TIMES`; waits for other streams are no work.

    Parameters
    ----------
    chip:
        The recorded one.
    length:
        What the entries of *work* take after the change, ns, ``[n]``.
    """
    names, place = _named(known)
    model = model_ns(known, chip)
    kept = ~work.is_wait
    rows = pl.DataFrame(
        {
            "type": pl.Series(names).gather(place[kept]),
            "recorded": (work.end - work.start)[kept],
            "model": model[kept],
            "after": length[kept],
        }
    )
    return (
        rows.group_by("type", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            (pl.col("recorded").sum() / 1000).alias("recorded_us"),
            (pl.col("model").sum() / 1000).alias("model_us"),
            (pl.col("after").sum() / 1000).alias("after_us"),
        )
        .with_columns(pl.when(pl.col("model_us") > 0).then("model_us").alias("model_us"))
        .with_columns((pl.col("recorded_us") / pl.col("model_us")).alias("ratio"))
        .sort("recorded_us", "type", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in TYPE_TIMES.items())
    )


def _named(known: Described) -> tuple[Sequence[str], I64]:
    """Return names of types, the first for what is not known, and the place of each entry's name, ``[n]``."""
    names = ["", *(spec.op_type for spec in known.specs), *(request.kind for request in known.requests)]
    place = np.where(known.spec >= 0, known.spec + 1, 0)
    return names, np.where(known.request >= 0, known.request + 1 + len(known.specs), place)
