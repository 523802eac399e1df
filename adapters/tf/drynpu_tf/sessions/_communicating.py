"""Sessions of a job with several ranks: an operator that waits for another rank must hold up no other."""

from __future__ import annotations

import os
from typing import Final

from drynpu_tf.foreign import ConfigProto, Graph
from drynpu_tf.options import npu_options_of
from drynpu_tf.ranks import NAMES, rank_count

_THREADS: Final = 64
"""Threads beside the usual ones. A communication operator keeps one until all ranks have come to it."""


def config_of_rank(graph: Graph, config: ConfigProto) -> ConfigProto:
    """
    Return the configuration of a session on the device; with several ranks its pool has a thread for each operator.

    Ranks may come to operators that do not depend on each other in different order. With as many threads as a run has
    of them, no rank waits for one that cannot begin. The script's own ``ConfigProto`` stays as it is.
    """
    if rank_count(os.environ) < 2 or not npu_options_of(config).on_device:
        return config
    changed = type(config)()
    changed.CopyFrom(config)
    usual = max(config.inter_op_parallelism_threads, os.cpu_count() or 1)
    changed.inter_op_parallelism_threads = usual + _THREADS + _count(graph)
    changed.use_per_session_threads = True
    return changed


def _count(graph: Graph) -> int:
    """Return how many operators of a graph, None for the current one, communicate."""
    import tensorflow.compat.v2 as tf

    return NAMES.count(tf.compat.v1.get_default_graph() if graph is None else graph)
