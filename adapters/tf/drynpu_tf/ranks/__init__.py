"""The ranks of a job on this machine: who they are, what they exchange, and how long they wait for each other."""

from __future__ import annotations

from drynpu_tf.ranks._environment import Job, rank_count, rank_number
from drynpu_tf.ranks._hcom import MARK, NODE_TYPES, Hcom, hcom_of
from drynpu_tf.ranks._names import NAMES, Names
from drynpu_tf.ranks._process import RANKS, Ranks
from drynpu_tf.ranks._segments import DEFAULT_SHARES, segments_by_index, segments_by_size

__all__ = [
    "DEFAULT_SHARES",
    "MARK",
    "NAMES",
    "NODE_TYPES",
    "RANKS",
    "Hcom",
    "Job",
    "Names",
    "Ranks",
    "hcom_of",
    "rank_count",
    "rank_number",
    "segments_by_index",
    "segments_by_size",
]
