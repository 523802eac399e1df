"""Traffic of network cards by hand: what two snapshots differ in, of the cards whose speed is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu.deliverables.host import facts
from drynpu.deliverables.host.tables import _network

SECOND = 10**9


def context(**speeds: int) -> Any:
    cards = tuple(SimpleNamespace(name=name, speed=speed) for name, speed in speeds.items())
    return SimpleNamespace(reader=SimpleNamespace(host_info=SimpleNamespace(net_cards=cards)))


def snapshots(*rows: tuple[int, str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["time_ns", "interface", "rx_bytes", "tx_bytes"], orient="row")


ROWS = snapshots(
    (7 * SECOND, "lo", 900, 900), (7 * SECOND, "eth0", 1000, 500), (7 * SECOND, "eth1", 70, 0),
    (9 * SECOND, "lo", 5_000_000, 900), (9 * SECOND, "eth0", 1000 + 300_000, 500), (9 * SECOND, "eth1", 70, 100_000),
    (10 * SECOND, "lo", 9_000_000, 900), (10 * SECOND, "eth0", 400_000, 9_999), (10 * SECOND, "eth1", 69, 200_000),
)  # fmt: skip


def test_cards_of_a_known_speed_add_up_and_the_mean_of_them_is_used() -> None:
    found = _network(context(eth0=8, eth1=4, eth2=0), ROWS).to_dicts()
    assert [row["time_ns"] for row in found] == [7 * SECOND, 9 * SECOND]
    first, second = found
    assert first["kb_s"] == pytest.approx((300_000 + 100_000) / 2 / facts_kb())
    last_card = 4 * facts.BYTES_PER_MBIT
    assert first["usage"] == pytest.approx((300_000 + 100_000) / 2 / 2 * 100 / last_card)
    # The counter of eth1 began again: eth0 alone counts, over one second.
    moved = 400_000 - 301_000 + 9_999 - 500
    assert second["kb_s"] == pytest.approx(moved / facts_kb())
    assert second["usage"] == pytest.approx(moved * 100 / (8 * facts.BYTES_PER_MBIT))
    assert {row["card_kb_s"] for row in found} == {12 * facts.BYTES_PER_MBIT / facts_kb()}


def facts_kb() -> int:
    """Bytes of a KB, as the vendor counts them."""
    return 1024


def test_without_a_known_speed_all_cards_but_the_loopback_count() -> None:
    found = _network(context(eth0=0), ROWS).to_dicts()
    assert [row["kb_s"] for row in found] == [
        pytest.approx(200_000 / 1024), pytest.approx((99_000 + 9_499) / 1024),
    ]  # fmt: skip
    assert all(row["usage"] is None and row["card_kb_s"] is None for row in found)


def test_a_card_that_moved_nothing_counts_and_one_that_is_new_does_not() -> None:
    rows = snapshots(
        (0, "eth0", 5, 5), (0, "eth1", 7, 7), (SECOND, "eth0", 5, 5), (SECOND, "eth1", 2055, 7),
        (SECOND, "eth2", 10**9, 10**9),
    )  # fmt: skip
    (row,) = _network(context(eth0=8, eth1=8, eth2=8), rows).to_dicts()
    assert row["kb_s"] == 2.0
    assert row["usage"] == pytest.approx(2048 / 2 * 100 / (8 * facts.BYTES_PER_MBIT))
