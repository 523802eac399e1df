"""The file that ``--reports`` names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu_msprof._reports import read_reports


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_no_document_breaks_reading_reports(tmp_path_factory: pytest.TempPathFactory, document: object) -> None:
    path = tmp_path_factory.mktemp("reports") / "reports.json"
    path.write_text(json.dumps({"json_process": document}), encoding="utf-8")
    reports = read_reports(path)
    assert reports.wanted is None
    assert reports.warnings


def test_a_misspelt_layer_is_told(tmp_path: Path) -> None:
    path = tmp_path / "reports.json"
    path.write_text('{"json_process": {"canm": true, "hbm": true}}')
    reports = read_reports(path)
    assert reports.wanted == {"hbm"}
    assert "'canm' is no layer and has no effect. Did you mean 'cann'?" in reports.warnings[0]
