"""What a PROF directory holds, directory by directory: ``msprof --query`` (cann_msprof.md 6.2)."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from drynpu import OutputError
from drynpu.analysis import iteration_trace
from drynpu.raw import ProfReader
from drynpu.tables import NO_MODEL, Profile
from drynpu.writers.number_text import UNKNOWN

QUERY_COLUMNS = (
    "Job Info",
    "Device ID",
    "Dir Name",
    "Collection Time",
    "Model ID",
    "Iteration Number",
    "Top Time Iteration",
    "Rank ID",
)
# Iterations in the column Top Time Iteration (cann_msprof.md 6.2), the longest first.
_LONGEST = 5
_DATE = "%Y-%m-%d %H:%M:%S.%f"
"""As start_info spells the local time at which collection began."""


def query_profile(profile: Profile) -> pl.DataFrame:
    """
    Return one row per model of every device, one row for a device without iterations and one for the host.

    All cells are texts. ``Iteration Number`` is the highest number of the model, ``Top Time Iteration`` names its five
    longest iterations, the longest first (more when several last equally long). Models that ran no kernel are left out
    (Ascend/msprof common_func/msprof_query_data.py). Results name neither the job nor models.

    Raises
    ------
    OutputError
        The profile has neither a PROF directory nor results.
    """
    if profile.results is not None:
        return _of_results(profile)
    if profile.prof_path is None:
        raise OutputError(f"{profile.path}: holds no PROF directory, so there is nothing to query")
    reader = ProfReader(profile.prof_path)
    job, rank = reader.host_info.job_info, str(reader.host_info.rank_id)
    rows = []
    if (profile.prof_path / "host").is_dir():
        rows.append((job, "", "host", reader.collection_date() or UNKNOWN, *[UNKNOWN] * 3, rank))
    for device in reader.device_ids:
        date = reader.collection_date(device) or UNKNOWN
        models = _models(profile, device) or [(UNKNOWN,) * 3]
        rows += [(job, str(device), f"device_{device}", date, *model, rank) for model in models]
    table = pl.DataFrame(rows, schema=dict.fromkeys(QUERY_COLUMNS, pl.String), orient="row")
    return table.sort("Job Info", "Collection Time", maintain_order=True)


def _of_results(profile: Profile) -> pl.DataFrame:
    """Return one row per device of a profile that was read from results."""
    times = [
        table["start_ns"].min() for table in (profile.api, profile.host_ops, profile.tasks, profile.communication_ops)
    ]
    first = profile.begin_ns or min((time for time in times if isinstance(time, int)), default=0)
    begun = datetime.fromtimestamp(first / 1e9).strftime(_DATE) if first else UNKNOWN
    rank = str(profile.rank_id) if profile.rank_id >= 0 else UNKNOWN
    rows = [
        (UNKNOWN, str(device), profile.path.name, begun, *[UNKNOWN] * 3, rank) for device in profile.device_ids or ("",)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(QUERY_COLUMNS, pl.String), orient="row")


def _models(profile: Profile, device: int) -> list[tuple[str, str, str]]:
    """Return model, number of iterations and longest iterations of a device."""
    kernels = profile.compact("kernels", "device_id", "model_id").filter(pl.col("device_id") == device)
    launched = kernels["model_id"].unique().implode()
    ranked = (
        iteration_trace(profile)
        .filter(
            (pl.col("device_id") == device) & (pl.col("model_id").is_in(launched) | (pl.col("model_id") == NO_MODEL))
        )
        .with_columns(pl.col("iteration_ns").rank("min", descending=True).over("model_id").alias("place"))
        .sort("model_id", "place", maintain_order=True)
    )
    counts = ranked.group_by("model_id", maintain_order=True).agg(
        pl.col("iteration").max().alias("count"),
        pl.col("iteration").filter(pl.col("place") <= _LONGEST).cast(pl.String).str.join(",").alias("longest"),
    )
    return [(str(model), str(count), longest) for model, count, longest in counts.iter_rows()]
