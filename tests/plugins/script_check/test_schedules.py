from __future__ import annotations

from drynpu.options import NoticeCode, Schedule, Severity
from drynpu_script_check._schedules import lint_schedule


def test_lint_of_a_schedule_that_never_records() -> None:
    schedule = Schedule(skip_first=10, wait=2, warmup=1, active=3, repeat=1)
    (notice,) = lint_schedule(schedule, 13)
    assert notice.severity is Severity.ERROR
    assert notice.code is NoticeCode.NEVER_RECORDS
    assert "first recorded step is step 13" in notice.message
    assert "the run has 13 steps" in notice.message
    (notice,) = lint_schedule(schedule, 14)
    assert notice.code is NoticeCode.INCOMPLETE_CYCLE
    assert "needs 16 steps" in notice.message
    assert lint_schedule(schedule, 16) == ()
    assert lint_schedule(schedule) == ()


def test_lint_of_warmup_and_repeat() -> None:
    codes = [notice.code for notice in lint_schedule(Schedule(active=1))]
    assert codes == [NoticeCode.NO_WARMUP, NoticeCode.MANY_DIRECTORIES]
    (notice,) = lint_schedule(Schedule(warmup=1, active=1, repeat=0), 6)
    assert "3 directories" in notice.message
    assert lint_schedule(Schedule(warmup=1, active=1, repeat=0), 2) == ()
