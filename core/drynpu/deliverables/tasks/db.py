"""Database rows of tasks, marks and collectives (cann_msprof.md 4.6)."""

from __future__ import annotations

from drynpu.deliverables._db_columns import Rows
from drynpu.deliverables.tasks._db_host import mark_rows
from drynpu.deliverables.tasks._db_tasks import task_rows
from drynpu.tables import Profile


def db_rows(profile: Profile) -> Rows:
    """Yield marks, overlap, tasks and collectives."""
    yield from mark_rows(profile)
    yield from task_rows(profile)
