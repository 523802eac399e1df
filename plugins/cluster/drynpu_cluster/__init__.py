"""
Many ranks at once: the vendor's cluster analysis, done rank by rank in parallel.

Each rank is read in a process of its own and leaves small tables as Parquet files; all that follows reduces those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu import lazy_room

if TYPE_CHECKING:
    from drynpu_cluster._analyse import FOLDER, ClusterResult, analyse_cluster
    from drynpu_cluster._find import ClusterSource, Form, RankSource, find_cluster
    from drynpu_cluster._groups import Group
    from drynpu_cluster._overview import Overview
    from drynpu_cluster._spread import spread
else:
    __getattr__ = lazy_room(__name__)

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
