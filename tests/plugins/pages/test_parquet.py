"""All tables of a run as Parquet files, read back by a plain reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.products import load_profile
from drynpu.tables import Profile
from drynpu_pages.named_tables import NamedTables
from drynpu_pages.parquet import export_parquet

Run = Callable[..., Any]


@pytest.fixture
def loaded(profile: Callable[[Path], Path], tmp_path: Path) -> Profile:
    return load_profile(profile(tmp_path / "host_77_20250109074803000_ascend_pt"))


def test_ranks_do_not_share_a_folder(loaded: Profile, tmp_path: Path) -> None:
    third = evolve(loaded, rank_id=3)
    assert {path.parent.name for path in export_parquet(third, tmp_path)} == {"rank_3"}


def test_parquet_keeps_tables_and_schemas(loaded: Profile, tmp_path: Path) -> None:
    written = export_parquet(loaded, tmp_path)
    tables = NamedTables(loaded)
    assert sorted(path.stem for path in written) == sorted(tables)
    for path in written:
        table = tables[path.stem]
        again = pl.read_parquet(path)
        assert again.schema == table.schema
        assert again.equals(table)
    assert pl.read_parquet(tmp_path / "kernels.parquet").height == loaded.kernels.height > 0


def test_the_verb_names_the_files_and_the_plugin_where_that_is_off(
    drynpu: Run, loaded: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = ("export", loaded.path, "--to", "chrome", "--to", "parquet", "-o", out)
    written = json.loads(drynpu(*command, "--json").out)["written"]
    assert written["chrome"] == [str(out / "trace_view.json.gz")]
    assert set(written["parquet"]) == {str(path) for path in out.glob("*.parquet")} != set()
    monkeypatch.setenv("DRYNPU_PLUGINS", "-pages")
    ended = drynpu(*command)
    assert ended.code != 0
    assert (
        "no exporter 'parquet'. It is an exporter of the plugin 'pages', which DRYNPU_PLUGINS switches off."
        in ended.err
    )
