"""The page of a benchmark: one file that needs no network."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Document: TypeAlias = Mapping[str, Any]

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .7rem;border-bottom:1px solid #ddd;text-align:right}
th:first-child,td:first-child{text-align:left}svg{display:block;margin:.5rem 0 1rem}small{color:#555}
.front{font-weight:600}@media(prefers-color-scheme:dark){body{background:#161616;color:#e8e8e8}th,td{border-color:#444}
small{color:#aaa}}
"""
_LATENCIES: Final = {
    "ttft_ms": "Time to first token, ms",
    "tpot_ms": "Time per further token, ms",
    "itl_ms": "Between tokens, ms",
    "end_to_end_ms": "Whole request, ms",
}
_CURVES: Final = (
    ("kv_use", "KV cache in use"),
    ("waiting", "Requests that wait"),
    ("decoding", "Requests that decode"),
    ("prefill_tokens", "Tokens of prompts in a step"),
    ("preempted", "Preemptions in a step"),
)
_WIDTH, _HEIGHT, _MOST_KERNELS = 900, 90, 12


def render(result: Document) -> str:
    """Return the page of all runs."""
    runs: Sequence[Document] = result["runs"]
    body = "".join([*_head(result), *_sweep(runs), *(part for run in runs for part in _run(run))])
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Serving</title><style>{_STYLE}</style>{body}</html>\n"
    )


def pareto_front(runs: Sequence[Document]) -> set[int]:
    """Return which runs no other one beats in both output tokens a second of a device and median time per token."""
    points = [(_per_device(run), _p50(run, "tpot_ms")) for run in runs]
    return {
        index
        for index, (tokens, latency) in enumerate(points)
        if not any(more >= tokens and less <= latency and (more, less) != (tokens, latency) for more, less in points)
    }


def _per_device(run: Document) -> float:
    return float(run["throughput"]["output_tokens_per_s"]) / int(run["tp"])


def _p50(run: Document, name: str) -> float:
    return float(run[name].get("p50", {"value": 0.0})["value"])


def _head(result: Document) -> Iterator[str]:
    yield f"<h1>Serving {_text(result['model'])}</h1>"
    yield f"<p>{_text(result['requests'])} requests a run at most. {_text(result['assumed'])} Ranges hold the time of "
    yield "all steps four times out of five; how a queue amplifies it is not in them.</p>"


def _sweep(runs: Sequence[Document]) -> Iterator[str]:
    front = pareto_front(runs)
    yield "<h2>Runs</h2><table><tr><th>Run<th>TTFT p50<th>p99<th>TPOT p50<th>p99<th>Output tokens/s<th>per device"
    yield "<th>Goodput, requests/s<th>KV peak<th>Preemptions</tr>"
    for index, run in enumerate(runs):
        mark = " class=front" if index in front else ""
        cells = [
            *(_ranged(run[name].get(p)) for name in ("ttft_ms", "tpot_ms") for p in ("p50", "p99")),
            f"{run['throughput']['output_tokens_per_s']:.1f}",
            f"{_per_device(run):.1f}",
            f"{run['goodput']['requests_per_s']:.2f} ({run['goodput']['share']:.0%})",
            f"{run['kv']['peak_use']:.1%}",
            str(run["kv"]["preemptions"]),
        ]
        yield f"<tr{mark}><td>{_text(run['title'])}" + "".join(f"<td>{cell}" for cell in cells) + "</tr>"
    yield "</table><p><small>In bold: the Pareto front of output tokens a second of a device and TPOT.</small></p>"


def _run(run: Document) -> Iterator[str]:
    yield f"<h2>{_text(run['title'])}</h2><table><tr><th><th>p50<th>p90<th>p99<th>mean</tr>"
    for name, title in _LATENCIES.items():
        yield f"<tr><td>{title}" + "".join(f"<td>{_ranged(run[name].get(p))}" for p in ("p50", "p90", "p99", "mean"))
    steps = run["steps"]
    yield f"</table><p>{steps['count']} steps of {steps['mean_ms']:.2f} ms in the mean, with "
    yield f"{steps['mean_requests']:.1f} requests. "
    yield f"Of {steps['total_ms']:.0f} ms kernels ran {steps['kernels_ms']:.0f} ms; in the other "
    yield f"{steps['host_and_waits_ms']:.0f} ms the device waited for the host.</p>"
    for phase, title in (("prefill", "Steps with prompts"), ("decode", "Steps that only decode")):
        shares = list(run["kernels"][phase].items())[:_MOST_KERNELS]
        if shares:
            yield f"<h3>{title}: kernels</h3><table><tr><th>Type<th>Share of kernel time</tr>"
            yield "".join(f"<tr><td>{_text(kind)}<td>{share:.1%}</tr>" for kind, share in shares) + "</table>"
    for name, title in _CURVES:
        yield f"<h3>{title}</h3>{_curve(run['timeline'], name)}"


def _curve(timeline: Sequence[Document], name: str) -> str:
    """Return a step curve over the time of the run."""
    end = max((float(step["end_s"]) for step in timeline), default=0.0) or 1.0
    top = max((float(step[name]) for step in timeline), default=0.0) or 1.0
    points = []
    for step in timeline:
        y = _HEIGHT - float(step[name]) / top * (_HEIGHT - 4)
        points += [f"{float(step[edge]) / end * _WIDTH:.1f},{y:.1f}" for edge in ("begin_s", "end_s")]
    line = f'<polyline fill="none" stroke="#2a6fdb" stroke-width="1.5" points="{" ".join(points)}"/>'
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" height="{_HEIGHT}" preserveAspectRatio="none"'
    return f'<svg role="img" {size}>{line}</svg><small>0 to {top:.4g}, over {end:.2f} s</small>'


def _ranged(figure: Mapping[str, float] | None) -> str:
    if figure is None:
        return "N/A"
    return f"{figure['value']:.2f} <small>{figure['low']:.2f} to {figure['high']:.2f}</small>"


def _text(value: object) -> str:
    return html.escape(str(value))
