"""What users of a server feel, from the times of all tokens: latencies with their intervals, throughput, goodput."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from attrs import frozen

from drynpu.analysis import HOST_ERROR, total_interval_us
from drynpu_virtual_time.loadtest.workload import Request

PERCENTILES: Final = (50, 90, 99)
_MS: Final = 1e3
_US: Final = 1e-3


@frozen(kw_only=True)
class Objective:
    """What a request has to keep in order to count for goodput, ms."""

    ttft_ms: float
    tpot_ms: float


@frozen(eq=False, kw_only=True)
class Served:
    """What the engine did: the times of the tokens of each request, its steps, when all was over."""

    requests: Sequence[Request]
    tokens_s: Sequence[Sequence[float]]
    steps: Sequence[Mapping[str, object]]
    end_s: float
    kv_blocks: int


def summarise(served: Served, objective: Objective, chip: str) -> dict[str, object]:
    """Return all figures of a run as a document; every time has ``low`` and ``high`` beside it."""
    low, high = step_interval(served.steps, chip)
    ttft, tpot, gaps, whole, kept = [], [], [], [], 0
    for request, times in zip(served.requests, served.tokens_s, strict=True):
        first = (times[0] - request.arrival_s) * _MS
        each = (times[-1] - times[0]) / (len(times) - 1) * _MS if len(times) > 1 else 0.0
        ttft.append(first)
        whole.append((times[-1] - request.arrival_s) * _MS)
        gaps += (np.diff(times) * _MS).tolist()
        if len(times) > 1:
            tpot.append(each)
        kept += first <= objective.ttft_ms and each <= objective.tpot_ms
    count, outputs = len(served.requests), sum(map(len, served.tokens_s))
    return {
        "ttft_ms": _distribution(ttft, low, high),
        "tpot_ms": _distribution(tpot, low, high),
        "itl_ms": _distribution(gaps, low, high),
        "end_to_end_ms": _distribution(whole, low, high),
        "throughput": {
            "requests_per_s": count / served.end_s,
            "output_tokens_per_s": outputs / served.end_s,
            "total_tokens_per_s": (outputs + sum(each.input_tokens for each in served.requests)) / served.end_s,
        },
        "goodput": {
            "requests_per_s": kept / served.end_s,
            "share": kept / count,
            "ttft_ms": objective.ttft_ms,
            "tpot_ms": objective.tpot_ms,
        },
        "range": {"low": low, "high": high},
        "kv": {
            "blocks": served.kv_blocks,
            "peak_use": max(_column(served.steps, "kv_use"), default=0.0),
            "preemptions": int(sum(_column(served.steps, "preempted"))),
        },
        "steps": _step_facts(served.steps),
        "kernels": {
            "prefill": _shares(served.steps, prefill=True),
            "decode": _shares(served.steps, prefill=False),
        },
    }


def step_interval(steps: Sequence[Mapping[str, object]], chip: str) -> tuple[float, float]:
    """
    Return by what the time of all steps is multiplied at the ends of its interval (four times out of five).

    Kernels are off as their total is, the host's time, which hides no kernels, by a third, independently. Queues are
    not in it: near saturation a step that is 10 % longer lengthens waits by far more.
    """
    kernels = Counter[str]()
    for step in steps:
        kernels.update(_kernels(step))
    total_us, kernel_us = sum(_lengths(steps)) * _MS / _US, sum(kernels.values()) * _US
    if not total_us or not kernel_us:
        return 1.0, 1.0
    interval = total_interval_us([(kind, ns * _US) for kind, ns in kernels.items()], chip) or (kernel_us, kernel_us)
    busy_us = min(kernel_us, total_us)
    below, above = (busy_us * abs(end / kernel_us - 1) for end in interval)
    host = (total_us - busy_us) * HOST_ERROR
    return 1 - math.hypot(below, host) / total_us, 1 + math.hypot(above, host) / total_us


def _distribution(values: Sequence[float], low: float, high: float) -> dict[str, object]:
    if not values:
        return {"count": 0}
    figures = {f"p{percent}": float(np.percentile(values, percent)) for percent in PERCENTILES}
    figures["mean"] = float(np.mean(values))
    ranged = {name: {"value": value, "low": value * low, "high": value * high} for name, value in figures.items()}
    return {"count": len(values), **ranged}


def _step_facts(steps: Sequence[Mapping[str, object]]) -> dict[str, object]:
    kernels = sum(sum(_kernels(step).values()) for step in steps) / 1e6
    lengths = _lengths(steps)
    total = sum(lengths) * _MS
    return {
        "count": len(steps),
        "total_ms": total,
        "kernels_ms": kernels,
        "host_and_waits_ms": max(0.0, total - kernels),
        "mean_ms": total / max(1, len(steps)),
        "mean_requests": float(np.mean(_column(steps, "requests") or [0])),
        "mean_prefill_tokens": float(np.mean(_column(steps, "prefill_tokens") or [0])),
    }


def _shares(steps: Sequence[Mapping[str, object]], *, prefill: bool) -> dict[str, float]:
    """Return the share of each type of kernel in the time of the steps with, or without, prefill."""
    kernels = Counter[str]()
    for step in steps:
        if bool(step["prefill_tokens"]) is prefill:
            kernels.update(_kernels(step))
    total = sum(kernels.values())
    return {kind: ns / total for kind, ns in kernels.most_common()} if total else {}


def _kernels(step: Mapping[str, object]) -> dict[str, int]:
    kernels = step.get("kernels_ns")
    return kernels if isinstance(kernels, dict) else {}


def _column(steps: Sequence[Mapping[str, object]], name: str) -> list[float]:
    return [float(str(step[name])) for step in steps]


def _lengths(steps: Sequence[Mapping[str, object]]) -> list[float]:
    return [end - begin for begin, end in zip(_column(steps, "begin_s"), _column(steps, "end_s"), strict=True)]
