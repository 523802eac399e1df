"""Which call of the host a record of a communication operator belongs to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from drynpu.raw import HostLevel
from drynpu.tables.communication import _operator_around


def test_a_record_belongs_to_the_node_call_around_it_and_without_one_to_the_communication_call() -> None:
    """The node call may be the first call of the profile, row 0."""
    rows = {HostLevel.NODE: np.array([0, -1, 7]), HostLevel.COMMUNICATION: np.array([3, 0, -1])}
    host: Any = SimpleNamespace(around=lambda level, records: rows[level])
    assert _operator_around(host, np.zeros(3)).tolist() == [0, 0, 7]
