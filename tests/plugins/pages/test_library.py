"""The runs that a dashboard serves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.core.views.runs.test_find import rank_folder

from drynpu import OutputError
from drynpu_pages.library import Library


def test_names_that_are_not_listed_cannot_be_opened(tmp_path: Path) -> None:
    rank_folder(tmp_path / "other", "host_1_20261122145732371_ascend_pt", 0)
    base = tmp_path / "base"
    rank_folder(base, "host_2_20261122145732371_ascend_pt", 0)
    library = Library(base)
    assert library.open("host_2_20261122145732371_ascend_pt").labels == ["0"]
    for name in ("../other/host_1_20261122145732371_ascend_pt", str(tmp_path / "other"), "", "."):
        with pytest.raises(OutputError, match="no run"):
            library.open(name)


def test_a_run_is_read_anew_when_its_files_change(tmp_path: Path) -> None:
    folder = rank_folder(tmp_path, "host_2_20261122145732371_ascend_pt", 0)
    library = Library(tmp_path)
    first = library.open(folder.name)
    assert library.open(folder.name) is first
    (folder / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").write_text("Device_id,Level\n")
    assert library.open(folder.name) is not first
