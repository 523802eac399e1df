"""``drynpu run --json``: the script runs in a process of its own, and one document says what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from drynpu import DrynpuError
from drynpu.cli.shared import echo_json, output_to_stderr
from drynpu.recorder import RUN_VARIABLE, RunJournal


def run_documented(command: Sequence[str], run: Callable[[], int]) -> int:
    """
    Call *run*, which starts *command* and returns its status, print the document, and return the status.

    What the processes print goes to stderr, so that the document is alone on stdout.
    """
    with tempfile.TemporaryDirectory(prefix="drynpu-run-") as folder:
        journal = RunJournal(Path(folder) / "recordings")
        os.environ |= {RUN_VARIABLE: str(journal.file), "DRYNPU_QUIET": "1"}
        begin_s = time.monotonic()
        with output_to_stderr():
            status = run()
        duration_s = time.monotonic() - begin_s
        recordings = journal.read()
    results, unread = _results(recordings)
    document = {"command": list(command), "exit_code": status, "duration_s": duration_s}
    echo_json({**document, "results": results, "unread": unread})
    return status


def run_process(command: Sequence[str]) -> int:
    """Run *command*, arguments of ``drynpu run``, and return its status as a shell does: 128 + n after signal n."""
    with subprocess.Popen([sys.executable, "-m", "drynpu", "run", *command]) as process:

        def pass_on(number: int, _: FrameType | None) -> None:
            process.send_signal(number)

        earlier = signal.signal(signal.SIGTERM, pass_on)
        try:
            while True:
                try:
                    process.wait()
                    break
                except KeyboardInterrupt:
                    continue  # the terminal has told the script as well; how it ends is for it to say
        finally:
            signal.signal(signal.SIGTERM, earlier)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _results(recordings: Sequence[tuple[Path, Path | None]]) -> tuple[list[object], list[Mapping[str, str]]]:
    """Return the summaries of all results, and those that cannot be read, each with its error."""
    from drynpu.analysis import summarise
    from drynpu.products import find_profiles, load_profile
    from drynpu.views import summary_document

    results: list[object] = []
    unread: list[Mapping[str, str]] = []
    paths = {
        directory if find_profiles(directory) == [directory] else prof or directory: None
        for directory, prof in recordings
        if directory.exists()
    }
    for path in paths:
        try:
            results.append(summary_document(summarise(load_profile(path))))
        except (DrynpuError, OSError) as error:
            unread.append({"path": str(path), "error": str(error)})
    return results, unread
