"""The figures of a benchmark, against numbers that can be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu_virtual_time.loadtest.metrics import Objective, Served, step_interval, summarise
from drynpu_virtual_time.loadtest.page import pareto_front, render
from drynpu_virtual_time.loadtest.workload import Request

_CHIP = "Ascend910B2"


def step(begin_s: float, end_s: float, kernels_ns: dict[str, int], *, prefill: int = 0) -> dict[str, object]:
    rest = {"decode_tokens": 1, "decoding": 1, "requests": 1, "waiting": 0, "kv_use": 0.5, "preempted": 1}
    return {"begin_s": begin_s, "end_s": end_s, "kernels_ns": kernels_ns, "prefill_tokens": prefill, **rest}


SERVED = Served(
    requests=[Request(0.0, 10, 3), Request(1.0, 20, 2)],
    tokens_s=[[0.5, 0.6, 0.9], [3.0, 3.1]],
    steps=[
        step(0.0, 0.5, {"MatMulV2": 300_000_000, "Add": 100_000_000}, prefill=10),
        step(0.5, 1.0, {"Add": 250_000_000}),
    ],
    end_s=4.0,
    kv_blocks=7,
)


def summary() -> dict[str, Any]:
    return summarise(SERVED, Objective(ttft_ms=1000, tpot_ms=250), _CHIP)


def test_latencies_are_of_requests_and_of_gaps() -> None:
    figures = summary()
    assert figures["ttft_ms"]["mean"]["value"] == pytest.approx((500 + 2000) / 2)
    assert figures["tpot_ms"]["mean"]["value"] == pytest.approx((200 + 100) / 2)
    assert figures["itl_ms"]["count"] == 3
    assert figures["itl_ms"]["p50"]["value"] == pytest.approx(100)
    assert figures["end_to_end_ms"]["p50"]["value"] == pytest.approx((900 + 2100) / 2)


def test_throughput_counts_all_and_goodput_who_kept_the_objective() -> None:
    figures = summary()
    assert figures["throughput"]["output_tokens_per_s"] == pytest.approx(5 / 4)
    assert figures["throughput"]["total_tokens_per_s"] == pytest.approx(35 / 4)
    assert figures["goodput"]["share"] == 0.5
    assert figures["kv"] == {"blocks": 7, "peak_use": 0.5, "preemptions": 2}


def test_kernels_are_shared_out_by_phase_and_steps_into_kernels_and_the_rest() -> None:
    figures = summary()
    assert figures["kernels"] == {"prefill": {"MatMulV2": 0.75, "Add": 0.25}, "decode": {"Add": 1.0}}
    assert figures["steps"]["kernels_ms"] == pytest.approx(650)
    assert figures["steps"]["host_and_waits_ms"] == pytest.approx(350)


def test_ranges_hold_the_value_and_come_from_kernels_and_the_host() -> None:
    figures = summary()
    low, high = figures["range"]["low"], figures["range"]["high"]
    assert 0 < low < 1 < high
    assert figures["ttft_ms"]["p99"]["low"] == pytest.approx(low * figures["ttft_ms"]["p99"]["value"])
    # A step of the host alone is off by a third.
    assert step_interval([step(0, 1, {"Add": 1})], _CHIP) == pytest.approx((2 / 3, 4 / 3), rel=1e-3)


def run(tokens: float, tpot: float, tp: int = 1) -> dict[str, Any]:
    return {"tp": tp, "throughput": {"output_tokens_per_s": tokens}, "tpot_ms": {"p50": {"value": tpot}}}


def test_the_front_has_the_runs_that_no_other_one_beats() -> None:
    assert pareto_front([run(100, 10), run(90, 11), run(200, 30), run(300, 9, tp=4), run(100, 10)]) == {0, 2, 3, 4}


def test_the_page_shows_every_run_and_needs_no_network() -> None:
    names = ("begin_s", "end_s", "kv_use", "waiting", "requests", "decoding", "prefill_tokens", "preempted")
    timeline = [{name: each[name] for name in names} for each in SERVED.steps]
    document = {"title": "a <chip>, TP 1", "tp": 1, **summary(), "timeline": timeline}
    text = render({"model": "m", "requests": 2, "assumed": "Some is.", "runs": [document]})
    assert "a &lt;chip&gt;, TP 1" in text
    assert "MatMulV2<td>75.0%" in text
    assert text.count("<polyline") == 5
    assert "http" not in text.replace("Tokenising, HTTP", "")
