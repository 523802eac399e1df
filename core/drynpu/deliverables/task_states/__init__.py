"""What became of tasks on the 310, whose scheduler reports states: the ``task_time`` that only this chip has."""

from __future__ import annotations
