"""``drynpu export``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drynpu.exporters.registry import CORE_EXPORTERS

Make = Callable[[Path], Path]
Run = Callable[..., Any]


def test_every_exporter_of_the_core_writes(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    profile(tmp_path / "a_ascend_pt")
    arguments = [word for name in CORE_EXPORTERS for word in ("--to", name)]
    ended = drynpu("export", tmp_path / "a_ascend_pt", *arguments, "-o", tmp_path / "out")
    assert (ended.code, len(ended.out.splitlines())) == (0, 1)
    assert (tmp_path / "out" / "trace_view.json.gz").is_file()


def test_json_names_the_files_of_each_exporter(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    profile(tmp_path / "a_ascend_pt")
    out = tmp_path / "out"
    ended = drynpu("export", tmp_path / "a_ascend_pt", "--to", "chrome", "-o", out, "--json")
    written = json.loads(ended.out)["written"]
    assert written["chrome"] == [str(out / "trace_view.json.gz")]


def test_analyze_leaves_the_bundled_exporters_alone(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    profile(tmp_path / "a_ascend_pt")
    assert drynpu("analyze", tmp_path / "a_ascend_pt").code == 0
    assert not list(tmp_path.rglob("trace_view.json.gz"))


def test_an_unknown_exporter_names_the_nearest(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    profile(tmp_path / "a_ascend_pt")
    ended = drynpu("export", tmp_path / "a_ascend_pt", "--to", "crome", "-o", tmp_path / "out")
    assert ended.code != 0
    assert "Did you mean 'chrome'?" in ended.err
    assert not (tmp_path / "out").exists()
