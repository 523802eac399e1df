"""communication_statistic, communication.json and communication_matrix.json (cann_msprof.md 4.3, 4.7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from attrs import frozen

from drynpu.analysis import (
    communication_statistic,
    communication_steps,
    communication_time,
    communication_transfers,
    launched_communication_steps,
)
from drynpu.deliverables.communication._mindspore import by_mindspore_steps
from drynpu.layouts.communication_files import (
    BANDWIDTH_INFO,
    COLLECTIVE,
    ELAPSE,
    IDLE,
    LARGE_RATIO,
    P2P,
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
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, statistic_text

_TOTAL_OF_TOOLKIT = "Total HCCL Operators"
"""The toolkit's name of its sum (Ascend/msprof, str_constant); torch has `TOTAL`."""

_TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
_SDMA_PARTS = ("HCCS", "PCIE", "SIO")
_LARGE_BYTES = {"RDMA": 500_000, "HCCS": 32_000_000, "PCIE": 32_000_000, "SIO": 32_000_000}
_MB, _NS_PER_MS = 1e6, 1e6
_POINT_TO_POINT = ("hcom_send", "hcom_receive", "hcom_batchsendrecv")
# Leftmost match wins, then the order here: reduceScatter is found as reduce (torch_npu_profiler.md 4.13).
_KINDS = re.compile(
    "send|reduce|invalid|broadcast|allreduce|receive|allgather|reducescatter|scatter|alltoall|alltoallv|alltoallvc"
    "|batchsendrecv"
)

Document = dict[str, Any]


@frozen(eq=False)
class _Packets:
    """Transfers of one operator over one transport: count, total time and bytes by packet size."""

    rows: tuple[tuple[int, int, int], ...] = ()
    """``(packet bytes, count, total ns)``, sizes in order of first appearance."""

    @property
    def size_bytes(self) -> int:
        return sum(size * count for size, count, _ in self.rows)

    @property
    def time_ns(self) -> int:
        return sum(time for _, _, time in self.rows)

    def distribution(self) -> dict[str, list[float]]:
        return {repr(size / _MB): [count, time / _NS_PER_MS] for size, count, time in self.rows}

    def large_ratio(self, transport: str) -> float:
        limit = _LARGE_BYTES.get(transport)
        count = sum(number for _, number, _ in self.rows)
        if limit is None or not count:
            return 0
        return round(sum(number for size, number, _ in self.rows if size > limit) / count, 4)


@frozen(eq=False)
class _Operator:
    """One operator: its times (ns) and its packets per transport."""

    key: str
    times: Mapping[str, int]
    packets: Mapping[str, _Packets]


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return communication_statistic (cann_msprof.md 4.3); absent at level0 and without communication."""
    if profile.level == "level0" or profile.communication_ops.is_empty():
        return {}
    numbers = {"total_us": "Total", "min_us": "Min", "avg_us": "Avg", "max_us": "Max"}
    table = communication_statistic(profile).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("op_type").alias("OP Type"),
        pl.col("count").cast(pl.String).alias("Count"),
        *(statistic_text(pl.col(name), writer).alias(f"{title} Time(us)") for name, title in numbers.items()),
        statistic_text(pl.col("ratio_pct"), writer).alias("Ratio(%)"),
    )
    return {"communication_statistic": table}


def json_files(profile: Profile) -> Mapping[str, object]:
    """Return the analyses of a PROF directory by path: one entry per operator, then the sum of all."""
    if profile.frame("communication_tasks").is_empty():
        return {}
    transfers = communication_transfers(profile)
    times = communication_time(profile, transfers)
    operators = _operators(times, transfers)
    document = {operator.key: _operator_document(operator) for operator in operators}
    document[_TOTAL_OF_TOOLKIT] = _operator_document(_merged(_TOTAL_OF_TOOLKIT, operators))
    matrix = {key: {name: link.document() for name, link in links.items()} for key, links in _links(times, transfers)}
    matrix[_TOTAL_OF_TOOLKIT] = {name: link.document() for name, link in _sum_of_links(times, transfers).items()}
    return {"analyze/communication.json": document, "analyze/communication_matrix.json": matrix}


def torch_json_files(profile: Profile) -> Mapping[str, object]:
    """Return the documents of ASCEND_PROFILER_OUTPUT: the same by step, collectives apart from point to point."""
    return _by_steps(profile, communication_steps)


def torch_db_documents(profile: Profile) -> Mapping[str, object]:
    """Return what torch's database stores of these documents: it finds the steps by another rule."""
    return _by_steps(profile, launched_communication_steps)


def _by_steps(profile: Profile, find_steps: Callable[..., tuple[tuple[int, ...], pl.Series]]) -> Mapping[str, object]:
    if profile.frame("communication_tasks").is_empty():
        return {}
    transfers = communication_transfers(profile)
    times = communication_time(profile, transfers)
    steps, step_ids = find_steps(profile, times)
    times = times.with_columns(step_ids.alias("step_id"))
    return step_documents(
        {f"step{step}": times.filter(pl.col("step_id") == step) for step in steps} or {"step": times}, transfers
    )


def step_documents(parts: Mapping[str, pl.DataFrame], transfers: pl.DataFrame) -> Mapping[str, object]:
    """Return communication.json and communication_matrix.json by name, of the times of each step and all transfers."""
    document = {name: _step_document(rows, transfers) for name, rows in parts.items()}
    matrix = {name: _step_matrix(rows, transfers) for name, rows in parts.items() if rows.height}
    return {COMMUNICATION_FILE: document, COMMUNICATION_MATRIX_FILE: matrix}


def mindspore_json_files(profile: Profile, steps: pl.DataFrame) -> Mapping[str, object]:
    """
    Return the documents of MindSpore's ASCEND_PROFILER_OUTPUT (mindspore_profiler.md 12.6).

    An operator belongs to the step whose range on the host holds its start; without *steps* (table of
    ``mindspore_steps``) everything is ``step0``, and a single step has everything.
    """
    documents = json_files(profile)
    if not documents or profile.level == "level0":
        return {}
    times, matrix = (documents[f"analyze/{name}.json"] for name in ("communication", "communication_matrix"))
    return by_mindspore_steps(times, matrix, steps)


def _operators(times: pl.DataFrame, transfers: pl.DataFrame) -> list[_Operator]:
    sizes = (
        transfers.filter(pl.col("transport") != "LOCAL")
        .group_by("device_id", "connection_id", "transport", "size_bytes", maintain_order=True)
        .agg(pl.len(), pl.col("time_ns").sum())
    )
    packets: dict[tuple[int, int], dict[str, list[tuple[int, int, int]]]] = {}
    for device, connection, transport, size, count, time in sizes.iter_rows():
        packets.setdefault((device, connection), {}).setdefault(transport, []).append((size, count, time))
    operators = []
    for row in times.iter_rows(named=True):
        by_transport = packets.get((row["device_id"], row["connection_id"]), {})
        counted = {name: row[f"{name}_ns"] for name in ("start", *_TIMES)}
        grouped = {transport: _Packets(tuple(rows)) for transport, rows in by_transport.items()}
        operators.append(_Operator(_key(row), counted, grouped))
    return operators


_TIMES = {
    "elapse": ELAPSE,
    "transit": TRANSIT,
    "wait": WAIT,
    "synchronization": SYNCHRONIZATION,
    "idle": IDLE,
}


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['name']}@{row['group']}"


def _merged(key: str, operators: Sequence[_Operator]) -> _Operator:
    """Sum the operators up; equal packet sizes are counted together."""
    times = {"start": 0} | {name: sum(operator.times[name] for operator in operators) for name in _TIMES}
    merged: dict[str, dict[int, list[int]]] = {}
    for operator in operators:
        for transport, part in operator.packets.items():
            sizes = merged.setdefault(transport, {})
            for size, count, time in part.rows:
                entry = sizes.setdefault(size, [0, 0])
                entry[0] += count
                entry[1] += time
    packets = {
        transport: _Packets(tuple((size, count, time) for size, (count, time) in sizes.items()))
        for transport, sizes in merged.items()
    }
    return _Operator(key, times, packets)


def _share(part: int, rest: int) -> float:
    return round(part / (part + rest), 4) if part + rest else 0


def _operator_document(operator: _Operator) -> Document:
    bandwidth: Document = {}
    for transport in _TRANSPORTS:
        size, time = _totals(operator, transport)
        packets = operator.packets.get(transport, _Packets())
        bandwidth[transport] = {
            SIZE: size / _MB if size else 0,
            TRANSIT: time / _NS_PER_MS if time else 0,
            RATE: round(size / time, 4) if time else 0,
            LARGE_RATIO: packets.large_ratio(transport),
            SIZES: {} if transport == "SDMA" else packets.distribution(),
        }
    started = {START_TIME: operator.times["start"] / 1000 if operator.times["start"] else 0}
    return {TIME_INFO: started | _time_document(operator), BANDWIDTH_INFO: bandwidth}


def _totals(operator: _Operator, transport: str) -> tuple[int, int]:
    """Bytes and ns of a transport; SDMA is everything that does not go over the network."""
    parts = ("SDMA", *_SDMA_PARTS) if transport == "SDMA" else (transport,)
    packets = [operator.packets[part] for part in parts if part in operator.packets]
    return sum(part.size_bytes for part in packets), sum(part.time_ns for part in packets)


def _time_document(operator: _Operator) -> Document:
    shown: Document = {
        title: operator.times[name] / _NS_PER_MS if operator.times[name] else 0 for name, title in _TIMES.items()
    }
    shown[WAIT_RATIO] = _share(operator.times["wait"], operator.times["transit"])
    shown[SYNCHRONIZATION_RATIO] = _share(operator.times["synchronization"], operator.times["transit"])
    return shown


def _is_point_to_point(name: str) -> bool:
    return name.lower().startswith(_POINT_TO_POINT)


def _step_document(times: pl.DataFrame, transfers: pl.DataFrame) -> Document:
    parts: dict[str, list[_Operator]] = {P2P: [], COLLECTIVE: []}
    for operator in _operators(times, transfers):
        parts[P2P if _is_point_to_point(operator.key) else COLLECTIVE].append(operator)
    return {name: _group_document(operators) for name, operators in parts.items()}


def _group_document(operators: Sequence[_Operator]) -> Document:
    document: Document = {operator.key: _operator_document(operator) for operator in operators}
    if operators:
        total = _merged(TOTAL, operators)
        bandwidth: Document = {}
        for transport in _TRANSPORTS:
            size, time = _totals(total, transport)
            sizes = {} if transport == "SDMA" else total.packets.get(transport, _Packets()).distribution()
            bandwidth[transport] = {
                TRANSIT: time / _NS_PER_MS if time else 0,
                SIZE: size / _MB if size else 0,
                SIZES: sizes,
            }
        document[TOTAL] = {TIME_INFO: _time_document(total), BANDWIDTH_INFO: bandwidth}
    return document


@frozen
class _Link:
    """What went over one link."""

    transport: str
    size_bytes: int
    time_ns: int

    @property
    def rate(self) -> float:
        return round(self.size_bytes / self.time_ns, 4) if self.time_ns else 0

    def document(self) -> Document:
        return {
            TRANSPORT: self.transport,
            SIZE: self.size_bytes / _MB,
            TRANSIT: self.time_ns / _NS_PER_MS,
            RATE: self.rate,
        }


def _links(times: pl.DataFrame, transfers: pl.DataFrame) -> list[tuple[str, dict[str, _Link]]]:
    """Return the links of each operator by ``<src>-<dst>``, operators in order of start."""
    by_link = (
        transfers.group_by("device_id", "connection_id", "src_rank", "dst_rank", maintain_order=True)
        .agg(pl.col("transport").last(), pl.col("size_bytes").sum(), pl.col("time_ns").sum())
        .iter_rows()
    )
    links: dict[tuple[int, int], dict[str, _Link]] = {}
    for device, connection, source, destination, transport, size, time in by_link:
        links.setdefault((device, connection), {})[f"{source}-{destination}"] = _Link(transport, size, time)
    rows = times.iter_rows(named=True)
    return [(_key(row), links.get((row["device_id"], row["connection_id"]), {})) for row in rows]


def _sum_of_links(times: pl.DataFrame, transfers: pl.DataFrame) -> dict[str, _Link]:
    together: dict[str, list[_Link]] = {}
    for _, links in _links(times, transfers):
        for name, link in links.items():
            together.setdefault(name, []).append(link)
    return {name: _total_link(parts) for name, parts in together.items()}


def _total_link(parts: Iterable[_Link]) -> _Link:
    every = list(parts)
    return _Link(every[0].transport, sum(part.size_bytes for part in every), sum(part.time_ns for part in every))


def _step_matrix(times: pl.DataFrame, transfers: pl.DataFrame) -> Document:
    """Rank the operators of each type and group by the bandwidth of each link (torch_npu_profiler.md 4.13)."""
    collected: dict[str, dict[tuple[str, str, str], list[tuple[_Link, str]]]] = {"p2p": {}, "collective": {}}
    for key, links in _links(times, transfers):
        name, group = key.split("@")[0], key.split("@")[-1]
        match = _KINDS.search(key.lower())
        kind = match.group() if match else name.split("__")[0]
        part = collected[P2P if _is_point_to_point(key) else COLLECTIVE]
        for link_name, link in links.items():
            part.setdefault((kind, group, link_name), []).append((link, name))
    return {part: _ranked(entries) for part, entries in collected.items()}


def _ranked(entries: Mapping[tuple[str, str, str], list[tuple[_Link, str]]]) -> Document:
    document: Document = {}
    for (kind, group, link_name), unordered in entries.items():
        ordered = sorted(unordered, key=lambda entry: entry[0].rate, reverse=True)
        chosen = {"top1": ordered[0], "middle": ordered[len(ordered) // 2], "bottom1": ordered[-1]}
        total = _total_link(link for link, _ in ordered).document()
        later = {f"bottom{place}": ordered[-place] for place in (2, 3) if len(ordered) >= place}
        for stat, (link, name) in chosen.items():
            document.setdefault(f"{kind}-{stat}@{group}", {})[link_name] = link.document() | {"Op Name": name}
        document.setdefault(f"{kind}-total@{group}", {})[link_name] = total
        for stat, (link, name) in later.items():
            document.setdefault(f"{kind}-{stat}@{group}", {})[link_name] = link.document() | {"Op Name": name}
    return document
