"""What a schedule will not do in a run."""

from __future__ import annotations

from drynpu.options import Notice, NoticeCode, Schedule, Severity, remark, warning


def lint_schedule(schedule: Schedule, total_steps: int | None = None) -> tuple[Notice, ...]:
    """
    Return what a schedule will not do in a run of *total_steps* steps (``None``: length unknown).

    An error when nothing is ever recorded, a warning when the run ends inside the first cycle or when there is no
    warm-up, an information when endless or several cycles leave several directories.
    """
    notices = []
    waited = 0 if schedule.skip_first_wait else schedule.wait
    if total_steps is not None and schedule.never_records(total_steps):
        message = (
            f"Nothing is recorded: the first recorded step is step {schedule.first_recorded_step} (counted from 0, "
            f"= skip_first {schedule.skip_first} + wait {waited} + warmup {schedule.warmup}), "
            f"but the run has {total_steps} steps."
        )
        notices.append(Notice(Severity.ERROR, "schedule", message, NoticeCode.NEVER_RECORDS))
    elif total_steps is not None and not schedule.complete_cycles(total_steps):
        needed = schedule.first_recorded_step + schedule.active
        message = (
            f"No cycle is completed: the first one needs {needed} steps, but the run has {total_steps}; "
            "what was recorded until then may be incomplete."
        )
        notices.append(warning("schedule", message, NoticeCode.INCOMPLETE_CYCLE))
    if not schedule.warmup:
        message = "There is no warm-up step; the first recorded step carries the start-up cost of the profiler."
        notices.append(warning("schedule.warmup", message, NoticeCode.NO_WARMUP))
    cycles = schedule.repeat if total_steps is None else schedule.complete_cycles(total_steps)
    if schedule.repeat != 1 and cycles != 1 and (total_steps is None or cycles):
        count = f"{cycles} directories" if cycles else "one directory per cycle without end"
        message = f"repeat={schedule.repeat} leaves {count}; several tools expect one per rank (repeat=1)."
        notices.append(remark("schedule.repeat", message, NoticeCode.MANY_DIRECTORIES))
    return tuple(notices)
