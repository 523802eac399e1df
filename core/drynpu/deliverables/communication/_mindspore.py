"""The toolkit's analyses of communication as MindSpore rearranges them (mindspore_profiler.md 12.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import polars as pl

from drynpu.layouts.communication_files import (
    BANDWIDTH_INFO,
    RATE,
    SIZE,
    SIZES,
    START_TIME,
    SYNCHRONIZATION,
    SYNCHRONIZATION_RATIO,
    TIME_INFO,
    TOTAL,
    TRANSIT,
    TRANSPORT,
    WAIT,
    WAIT_RATIO,
)
from drynpu.layouts.result_files import COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE

_RATIOS = {WAIT_RATIO: WAIT, SYNCHRONIZATION_RATIO: SYNCHRONIZATION}
_TOTAL = "Total"
_POINT_TO_POINT = ("Send", "Receive")
"""The vendor looks for these spellings only: the toolkit's hcom_send and hcom_receive count as collectives."""
_P2P_KIND = re.compile("receive|send")
_KIND = re.compile("invalid|broadcast|allreduce|reduce|allgather|reducescatter|scatter|alltoall|alltoallv|alltoallvc")
_DEFAULT_STEP = "0"

Document = dict[str, Any]
_Operators = Mapping[str, Mapping[str, Any]]


def by_mindspore_steps(times: object, matrix: object, steps: pl.DataFrame) -> dict[str, object]:
    """Return communication.json and communication_matrix.json from the toolkit's documents of the same names."""
    operators, links = cast("_Operators", times), cast("_Operators", matrix)
    by_step = _split(operators, steps)
    documents: dict[str, object] = {
        COMMUNICATION_FILE: {f"step{step}": _step(members) for step, members in by_step.items()}
    }
    ranked = {
        f"step{step}": _matrix({name: links[name] for name in links if name in members})
        for step, members in by_step.items()
        if any(name in members for name in links)
    }
    return documents | ({COMMUNICATION_MATRIX_FILE: ranked} if ranked else {})


def _split(operators: _Operators, steps: pl.DataFrame) -> dict[str, Document]:
    if steps.height < 2:
        return {steps["step"][0] if steps.height else _DEFAULT_STEP: dict(operators)}
    documents: dict[str, Document] = {step: {} for step in steps["step"]}
    ranges = list(steps.iter_rows())
    for name, info in operators.items():
        start_ns = round(info[TIME_INFO][START_TIME] * 1000)
        # Starts are told in us as floats, which are exact to a quarter of a microsecond in our days.
        step = next((step for step, start, end in ranges if start <= start_ns <= end), None)
        if step is not None:
            documents[step][name] = info
    return documents


def _is_point_to_point(name: str) -> bool:
    return any(word in name for word in _POINT_TO_POINT)


def _parts(operators: _Operators) -> dict[str, Document]:
    """Return point to point apart from collectives; sums of the toolkit's belong to neither."""
    parts: dict[str, Document] = {"p2p": {}, "collective": {}}
    for name, info in operators.items():
        if _is_point_to_point(name):
            parts["p2p"][name] = info
        elif not name.startswith(_TOTAL):
            parts["collective"][name] = info
    return parts


def _step(operators: _Operators) -> Document:
    return {
        kind: members | ({TOTAL: _sum(list(members.values()))} if members else {})
        for kind, members in _parts(operators).items()
    }


def _sum(operators: Sequence[Mapping[str, Any]]) -> Document:
    """Sum operators up: times without a start, and of every transport time, size and packets."""
    times: Document = {}
    bandwidth: dict[str, Document] = {}
    for operator in operators:
        for name, value in operator[TIME_INFO].items():
            if name not in _RATIOS and name != START_TIME:
                times[name] = times.get(name, 0.0) + value
        for transport, moved in operator[BANDWIDTH_INFO].items():
            total = bandwidth.setdefault(transport, {TRANSIT: 0, SIZE: 0, SIZES: {}})
            total[TRANSIT] += moved[TRANSIT]
            total[SIZE] += moved[SIZE]
            for size, (count, took) in moved[SIZES].items():
                packets = total[SIZES].setdefault(size, [0, 0])
                packets[0] += count
                packets[1] += took
    for ratio, part in _RATIOS.items():
        times[ratio] = _share(times.get(part, 0), times.get(part, 0) + times.get(TRANSIT, 0))
    return {TIME_INFO: times, BANDWIDTH_INFO: bandwidth}


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0


def _matrix(operators: _Operators) -> Document:
    return {kind: _ranked(members) for kind, members in _parts(operators).items()}


def _ranked(operators: _Operators) -> Document:
    """Rank the operators of a type and group by the bandwidth of each link."""
    collected: dict[tuple[str, str, str], list[Document]] = {}
    for key, links in operators.items():
        group, name = key.split("@")[-1], key.split("@")[0]
        for link, moved in links.items():
            collected.setdefault((_kind(key), group, link), []).append({**moved, "op_name": name})
    document: Document = {}
    for (kind, group, link), unordered in collected.items():
        rows = sorted(unordered, key=lambda row: float(row[RATE]), reverse=True)
        chosen = {"top1": rows[0], "middle": rows[len(rows) // 2]}
        # Of fewer than three, the lowest places are the same operator.
        chosen |= {f"bottom{place}": rows[-min(place, len(rows))] for place in (1, 2, 3)}
        size, took = sum(row[SIZE] for row in rows), sum(row[TRANSIT] for row in rows)
        total = {TRANSPORT: rows[0][TRANSPORT], SIZE: size, TRANSIT: took, RATE: _share(size, took)}
        for place, row in (chosen | {"total": total}).items():
            document.setdefault(f"{kind}-{place}@{group}", {})[link] = row
    return document


def _kind(key: str) -> str:
    pattern = _P2P_KIND if _is_point_to_point(key) else _KIND
    match = pattern.search(key.lower())
    return match.group() if match else key.lower().rpartition("/")[-1].partition("-op")[0]
