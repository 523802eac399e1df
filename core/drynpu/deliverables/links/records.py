"""Links of the device, sampled: network ports, PCIe, HCCS, the link between the dies of a package."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables._requested import requested_deliverables, unmodelled
from drynpu.deliverables._traffic import BothDirections, copy_flows, edges_us, link_flows
from drynpu.deliverables.links import facts
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.device.collectives import LinkType
from drynpu.device.samplers.traffic import Flow, join_flows, whole_counts
from drynpu.options import NOT_SIMULATED

_MS_PER_S = 1000
_PACKET_BYTES = 4096
"""Payload of a RoCE packet: the largest MTU of the protocol, assumed."""
_SIO_LONGEST_US = 20_000
"""The counters of the die link have 32 bits, so it is read before they can overflow."""
_NETWORK = (LinkType.ROCE, LinkType.STANDARD_ROCE)
_REASONS = {
    **NOT_SIMULATED,
    "SIO": "traffic between the dies inside this chip is not simulated",
    "nic": "the network port of this chip is not known",
    "NIC": "the network port of this chip is not known",
    "roce": "the network port of this chip is not known",
    "RoCE": "the network port of this chip is not known",
}


def build(context: RecordContext) -> GroupRecords:
    """
    Return the samples of network ports (``io_hz``) and of the links between devices and to the host.

    Collectives and copies between host and device make the traffic; a link that neither uses reads 0, as an idle
    link does. The NIC is the same port as RoCE without its RDMA traffic: nothing simulated sends plain packets.
    """
    sampling = context.request.sampling
    sample: dict[str, object] = {}
    text: dict[str, pl.DataFrame] = {}
    device: dict[str, Records] = {}
    io, links = requested_deliverables(context, facts.IO_OPTION), requested_deliverables(context, facts.LINK_OPTION)
    missing = set(io | links | requested_deliverables(context, facts.DVPP_OPTION))
    if sampling.io_hz is not None:
        sample["io_sampling_interval"] = _MS_PER_S // sampling.io_hz
        text |= _ports(context, io, _MS_PER_S // sampling.io_hz)
        missing -= {name for name in io if text}
    if sampling.interconnection_hz is not None:
        interval_us = _MS_PER_S // sampling.interconnection_hz * 1000
        sample["interconnection_sampling_interval"] = interval_us // 1000
        edges = edges_us(context, interval_us)
        if "pcie" in links:
            device["pcie"] = _pcie(context, edges)
        if "hccs" in links:
            text["hccs"] = _hccs(context, edges)
        if "SIO" in links and context.chip.interconnect.package_devices > 1:
            device["sio"] = _sio(context, edges_us(context, min(interval_us, _SIO_LONGEST_US)))
            missing.discard("SIO")
    return GroupRecords(device=device, device_text=text, sample=sample, notes=unmodelled(missing, _REASONS))


def _raw_ns(context: RecordContext, edges: I64) -> I64:
    """Return times of a sampler on the raw monotonic clock."""
    return np.asarray(edges * 1000 + context.simulation.base_ns + context.to_raw_ns, np.int64)


def _ports(context: RecordContext, names: frozenset[str], interval_ms: int) -> dict[str, pl.DataFrame]:
    speed_gbs = context.chip.interconnect.network_gbs
    if not speed_gbs:
        return {}
    edges = edges_us(context, interval_ms * 1000)
    idle = BothDirections(Flow((), (), ()), Flow((), (), ()))
    traffic = {"nic": idle, "roce": link_flows(context, _NETWORK)}
    return {
        name: _port(_raw_ns(context, edges), edges, flows, round(speed_gbs * 8 * 1000))
        for name, flows in traffic.items()
        if name in names
    }


def _port(raw_ns: I64, edges: I64, flows: BothDirections, mbit_s: int) -> pl.DataFrame:
    """Return the counters of a port: totals since the first reading, rates since the last one."""
    columns: dict[str, object] = {"time_ns": raw_ns, "bandwidth": np.full(len(edges), mbit_s)}
    seconds = np.maximum(np.diff(edges, prepend=edges[0]) / 1e6, 1e-9)
    for way, flow in (("rx", flows.into), ("tx", flows.out)):
        moved = np.rint(flow.by(edges * 1000)).astype(np.int64)
        packets = -(-moved // _PACKET_BYTES)
        columns[f"{way}_packet_rate"] = np.rint(np.diff(packets, prepend=packets[0]) / seconds).astype(np.int64)
        columns[f"{way}_byte_rate"] = np.rint(np.diff(moved, prepend=moved[0]) / seconds).astype(np.int64)
        columns[f"{way}_packets"], columns[f"{way}_bytes"] = packets, moved
        columns[f"{way}_errors"] = columns[f"{way}_dropped"] = np.zeros(len(edges), np.int64)
    columns["func_id"] = np.zeros(len(edges), np.int64)
    return pl.DataFrame(columns)


def _hccs(context: RecordContext, edges: I64) -> pl.DataFrame:
    flows = link_flows(context, (LinkType.HCCS, LinkType.HCCS_SW))
    return pl.DataFrame(
        {
            "time_ns": _raw_ns(context, edges),
            "tx_bytes": np.rint(flows.out.by(edges * 1000)).astype(np.int64),
            "rx_bytes": np.rint(flows.into.by(edges * 1000)).astype(np.int64),
        }
    )


def _pcie(context: RecordContext, edges: I64) -> Records:
    """
    Return the traffic of the PCIe link by kind of packet, bytes per microsecond.

    The device moves the data itself: what goes to the host are posted writes, what comes from it are completions of its
    reads, and completions it sends answer the reads of other devices. Packet headers and the read requests themselves
    are not counted. The latency of reads is the latency of the link wherever there are any.
    """
    copies, peers = copy_flows(context), link_flows(context, (LinkType.PCIE,))
    spans = edges[1:] * 1000.0
    rows = facts.PCIE.new(len(edges) - 1)
    rows["time_ns"] = _raw_ns(context, edges)[1:]
    rows["device_id"] = context.destination.device_id
    received = join_flows([copies.into, peers.into])
    for name, flow in (("tx_p", copies.out), ("tx_cpl", peers.out), ("rx_cpl", received)):
        least, most = flow.extremes(edges * 1000)
        mean = flow.between(edges * 1000) / np.diff(edges * 1000)
        for part, rate in (("min", least), ("max", most), ("avg", mean)):
            rows[f"{name}_{part}"] = np.rint(rate * 1000)
    reading = received.by(spans) > received.by(edges[:-1] * 1000)
    latency = np.where(reading, round(context.chip.interconnect.pcie_latency_us * 1000), 0)
    for part in ("min", "max", "avg"):
        rows[f"{facts.PCIE_LATENCY}_{part}"] = latency
    return rows


def _sio(context: RecordContext, edges: I64) -> Records:
    """Return the data that crossed to the other die; requests, responses and snoops are not counted."""
    flows = link_flows(context, (LinkType.SIO,))
    rows = facts.SIO.new(len(edges))
    rows["tick"] = context.anchors.unix_to_tick(edges * 1000 + context.simulation.base_ns)
    rows["acc_id"] = context.destination.device_id % context.chip.interconnect.package_devices
    for name, flow in (("dat_rx", flows.into), ("dat_tx", flows.out)):
        rows[name] = np.concatenate([[0], whole_counts(flow.by(edges * 1000), 1)])
    return rows
