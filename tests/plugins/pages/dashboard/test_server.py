"""The command, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "drynpu", "dashboard", *map(str, arguments)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "100"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield process, found.group()
        finally:
            process.kill()


def fetch(address: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
    with opener.open(address, timeout=30) as answer:
        return str(answer.read().decode())


def test_it_serves_on_this_machine_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", 0) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert "<title>drynpu</title>" in fetch(address)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def test_a_program_reads_the_address_and_the_runs(profile: Callable[[Path], Path], tmp_path: Path) -> None:
    profile(tmp_path / "runs" / "a_ascend_pt")
    command = [sys.executable, "-m", "drynpu", "dashboard", str(tmp_path / "runs"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            # The document ends at the first line that is a brace alone; the command goes on.
            document = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            assert "<title>drynpu</title>" in fetch(document["address"])
        finally:
            process.kill()
    assert document["runs"] == [{"name": "a_ascend_pt", "ranks": [0]}]
    assert document["directory"] == str(tmp_path / "runs")


def test_a_place_that_others_reach_has_a_token(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", 0, "--host", "0.0.0.0") as (_, address):
        port, token = re.search(r":(\d+)/\?token=(\S{20,})$", address).groups()  # type: ignore[union-attr]
        with pytest.raises(urllib.request.HTTPError, match="401"):
            fetch(f"http://127.0.0.1:{port}/")
        assert "<title>drynpu</title>" in fetch(f"http://127.0.0.1:{port}/?token={token}")


def test_a_port_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "drynpu", "dashboard", str(tmp_path), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    said = f"drynpu: port {port} of 127.0.0.1 is in use; choose another with --port (0 takes any that is free)\n"
    assert done.stderr == said
