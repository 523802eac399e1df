"""The layer of computing and communication, and their database table, against cann_msprof.md 4.5 and 4.6."""

from __future__ import annotations

from drynpu.deliverables.overlap import facts


def test_layer() -> None:
    """cann_msprof.md 4.5: "31 Overlap Analysis"."""
    layer = facts.OVERLAP_LAYER
    assert (layer.name, layer.sort_index, layer.label) == ("Overlap Analysis", 31, "NPU")


def test_table() -> None:
    """cann_msprof.md 4.6: OVERLAP_ANALYSIS has "id* deviceId startNs endNs type"."""
    (table,) = facts.DB_TABLES
    assert table.name == "OVERLAP_ANALYSIS"
    assert list(table.columns) == ["id", "deviceId", "startNs", "endNs", "type"]
