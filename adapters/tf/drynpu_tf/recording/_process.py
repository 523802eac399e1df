"""The graph engine of this process."""

from __future__ import annotations

import os
from typing import Final

from drynpu.recorder import CHECK_VARIABLE
from drynpu_tf.recording._graph_engine import GraphEngine


def _engine() -> GraphEngine:
    text = os.environ.get(CHECK_VARIABLE, "")
    if not text:
        return GraphEngine()
    from drynpu_tf.recording._checking import checked_engine

    return checked_engine(text)


PROCESS: Final = _engine()
"""The one process-wide state of this adapter: the graph engine is process-wide itself."""
