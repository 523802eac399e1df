"""Numbers of names, and names of counters, in databases."""

from __future__ import annotations

import polars as pl
import pytest

from drynpu.deliverables.counters.db import counter_name
from drynpu.deliverables.db_enums import ENUMS, enum_number


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_names_become_their_numbers(name: str) -> None:
    known = ENUMS[name]
    frame = pl.DataFrame({"text": [*known.values(), *map(str, known)]})
    assert frame.select(enum_number(pl.col("text"), name)).to_series().to_list() == [*known, *known]
    odd = pl.DataFrame({"text": ["", None, "nonsense"]}).select(enum_number(pl.col("text"), name)).to_series()
    assert odd.to_list() == [65534 if "N/A" in known.values() else 65535] * 2 + [65535]


@pytest.mark.parametrize(
    ("column", "split", "name", "scale"),
    [
        ("aicore_time(us)", True, "aic_total_time", 1000.0),
        ("aicore_time(us)", False, "total_time", 1000.0),
        ("aiv_time(us)", True, "aiv_total_time", 1000.0),
        ("aic_mte2_time(us)", True, "aic_mte2_time", 1000.0),
        ("aiv_ub_read_bw(GB/s)", True, "aiv_ub_read_bw", 1.0),
        ("ub_read_bw(GB/s)", False, "ub_read_bw", 2.0**30),
        ("aic_mac_ratio", True, "aic_mac_ratio", 1.0),
        ("aic_total_cycles", True, "aic_total_cycles", 1.0),
        ("GM_to_L1_datas(KB)", True, "GM_to_L1_datas", 1.0),
    ],
)
def test_names_of_counters(column: str, split: bool, name: str, scale: float) -> None:
    assert counter_name(column, split=split) == (name, scale)
