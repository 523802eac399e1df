"""
Collectives on the simulated device: which links a group has, which algorithm it takes, and the tasks of one rank.

Everything is a model: transfers take the chip's latency plus bytes over link rate times efficiency
(device_and_cost_model.md 2), and the algorithm follows from how the ranks are joined.
"""

from __future__ import annotations

from drynpu.device.collectives._algorithms import Algorithm, Transfer, TransferStep, choose
from drynpu.device.collectives._links import Link, LinkType, RdmaType, Topology, TransportType
from drynpu.device.collectives._plan import (
    LOCAL_NOTIFY,
    NO_NOTIFY,
    CollectivePlan,
    TaskName,
    collective_us,
    plan_collective,
)
from drynpu.device.collectives._request import HCCL, KINDS, MESSAGES, POINT_TO_POINT, WORLD_GROUP, CollectiveRequest

__all__ = [
    "HCCL",
    "KINDS",
    "LOCAL_NOTIFY",
    "MESSAGES",
    "NO_NOTIFY",
    "POINT_TO_POINT",
    "WORLD_GROUP",
    "Algorithm",
    "CollectivePlan",
    "CollectiveRequest",
    "Link",
    "LinkType",
    "RdmaType",
    "TaskName",
    "Topology",
    "Transfer",
    "TransferStep",
    "TransportType",
    "choose",
    "collective_us",
    "plan_collective",
]
