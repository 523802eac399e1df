"""All tables of a profile as Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drynpu.tables import Profile
from drynpu.writers.files import make_directory, new_path
from drynpu_pages.named_tables import NamedTables


def export_parquet(profile: Profile, folder: Path) -> Sequence[Path]:
    """
    Write one ``<table>.parquet`` per table of `NamedTables`, of a distributed run in ``rank_<rank>``.

    Files have the schemas of the tables; a table without rows is written too, so that a reader need not know what was
    recorded. Raises `OutputError`.
    """
    place = make_directory(folder if profile.rank_id < 0 else folder / f"rank_{profile.rank_id}")
    tables = NamedTables(profile)
    written = []
    for name in tables:
        path = place / f"{name.removesuffix('.csv')}.parquet"
        with new_path(path) as partial:
            tables.compute(name).write_parquet(partial)
        written.append(path)
    return written
