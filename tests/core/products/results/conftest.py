"""Say loudly that genuine profiles were not there to be read."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "test_genuine" in report.nodeid]
    if skipped:
        terminalreporter.section("GENUINE PROFILES WERE NOT READ", "!")
        terminalreporter.line(f"{len(skipped)} tests skipped: {skipped[0].longrepr[2]}")
        terminalreporter.line("Their folder is shared/data beside the checkout, or what GENUINE_PROFILES names.")
