"""
Many ranks at once: the vendor's cluster analysis, done rank by rank in parallel.

Each rank is read in a process of its own and leaves small tables as Parquet files; all that follows reduces those.
"""

from __future__ import annotations

from drynpu.cluster._analyse import FOLDER, ClusterResult, analyse_cluster
from drynpu.cluster._find import ClusterSource, Form, RankSource, find_cluster
from drynpu.cluster._groups import Group
from drynpu.cluster._overview import Overview
from drynpu.cluster._spread import spread

__all__ = [
    "FOLDER",
    "ClusterResult",
    "ClusterSource",
    "Form",
    "Group",
    "Overview",
    "RankSource",
    "analyse_cluster",
    "find_cluster",
    "spread",
]
