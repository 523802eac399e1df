"""The host's metrics against lines of Linux and numbers of Ascend/msprof host_prof."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.host import facts
from drynpu.deliverables.host._text_timed import HOST_CPU, HOST_NETWORK
from drynpu.deliverables.host.tables import _cpu, _network
from drynpu.layouts.host import PAGE_KB


def rows(kind: Any, text: str) -> pl.DataFrame:
    return pl.DataFrame(kind.parse(text.splitlines()).rows, schema=kind.schema, orient="row")


def stat(thread: int, used: int, core: int) -> str:
    zeros = " ".join(["0"] * 9)
    return f"{thread} (py) R 1 {zeros} {used} 0 {' '.join(['0'] * 23)} {core} {' '.join(['0'] * 13)}\n"


def test_a_core_of_exactly_100_percent_is_shown_and_one_above_is_not() -> None:
    text = f"time 10\n1.00 0.00\n{stat(1, 0, 4)}{stat(2, 0, 5)}{stat(3, 0, 5)}{stat(4, 0, 6)}"
    text += f"time 20\n3.00 0.00\n{stat(1, 200, 4)}{stat(2, 150, 5)}{stat(3, 60, 5)}{stat(4, 30, 6)}"
    info = SimpleNamespace(sys_clock_freq=100, cpu_nums=4)
    context: Any = SimpleNamespace(reader=SimpleNamespace(host_info=info))
    found = _cpu(context, rows(HOST_CPU, text)).select("time_ns", "cpu", "usage")
    assert found.rows() == [(10, "Avg", 55.0), (10, "4", 100.0), (10, "6", 15.0)]


def test_traffic_of_a_card_is_received_and_sent() -> None:
    received, sent = "{} 1 0 0 0 0 0 0", "{} 1 0 0 0 0 0 0"
    line = f"eth0: {received} {sent}\n"
    text = f"time 0\n{line.format(1000, 5000)}time 1000000000\n{line.format(1000 + 3 * 1024, 5000 + 1024)}"
    cards = [SimpleNamespace(name="eth0", speed=1000)]
    context: Any = SimpleNamespace(reader=SimpleNamespace(host_info=SimpleNamespace(net_cards=cards)))
    found = _network(context, rows(HOST_NETWORK, text)).row(0, named=True)
    assert (found["kb_s"], found["card_kb_s"]) == (4.0, 125_000_000 / 1024)
    assert found["usage"] == 4096 * 100 / 125_000_000


def test_numbers_and_layers() -> None:
    assert (facts.CLOCK_TICKS_PER_S, PAGE_KB, facts.BYTES_PER_MBIT, facts.MOST_USAGE) == (100, 4, 125_000, 100)
    layers = (facts.CPU_LAYER, facts.MEMORY_LAYER, facts.NETWORK_LAYER, facts.DISK_LAYER)
    assert [(layer.name, layer.sort_index, layer.label) for layer in layers] == [
        ("CPU Usage", 9, "CPU"),
        ("Memory Usage", 10, "CPU"),
        ("Network Usage", 11, "CPU"),
        ("Disk Usage", 12, "CPU"),
    ]


def test_the_recommended_value_is_that_of_98_percent_at_a_load_of_80() -> None:
    """Ascend/msprof, host_prof_data_base.py."""
    assert (facts.RECOMMENDED_SHARE, facts.BEST_LOAD) == (0.98, 0.8)
