"""What is approved of recorded runs, of recordings made by hand and of kernels, and how a test compares with it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from approved import difference, one_line_each, read_approved
from subjects import Subjects


@pytest.fixture(autouse=True, scope="session")
def _one_time_zone() -> Iterator[None]:
    """Let local times be the same on every machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Subjects:
    return Subjects(tmp_path_factory.mktemp("approved"))


@pytest.fixture
def compare(subjects: Subjects) -> Callable[[str, str], None]:
    """Return a function that fails where a part of a subject is not as it was approved."""

    def compare(subject: str, part: str) -> None:
        changed = difference(read_approved(subject, part), one_line_each(subjects.lines(subject, part)))
        if changed:
            advice = f"if this is meant: python tools/approve.py {subject}.{part}, and review the difference"
            pytest.fail("\n".join([f"{subject}, {part}: {advice}", *changed]), pytrace=False)

    return compare
