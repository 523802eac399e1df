"""Jobs of several processes, started as a user would, and what their ranks leave."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

pytest.importorskip("torch")


@frozen
class Operator:
    """A communication operator of a timeline; times in us of one clock for all ranks."""

    name: str
    group: str
    start: Decimal
    end: Decimal
    args: dict[str, Any]
    info: dict[str, float]

    @property
    def kind(self) -> str:
        return self.name.split("_")[1]

    @property
    def wait_us(self) -> float:
        return self.info["Wait Time(ms)"] * 1000


def communication(output: Any) -> list[Operator]:
    """Return the communication operators of a rank, from its timeline and communication.json, in order of start."""
    steps = json.loads((output.folder / "communication.json").read_text())
    found = {
        key: value["Communication Time Info"]
        for step in steps.values()
        for part in step.values()
        for key, value in part.items()
        if "@" in key
    }
    named = {key.split("@")[0]: key for key in found}
    events = [event for event in output.layer("Communication") if event["name"].startswith("hcom_")]
    operators = []
    for event in sorted(events, key=lambda event: Decimal(str(event["ts"]))):
        start, length = Decimal(str(event["ts"])), Decimal(str(event["dur"]))
        key = named[event["name"]]
        operators.append(Operator(event["name"], key.split("@")[1], start, start + length, event["args"], found[key]))
    return operators


@pytest.fixture(scope="session")
def operators() -> Callable[[Any], list[Operator]]:
    """Return the function that reads the communication operators of a result directory."""
    return communication


_SETTINGS = {"OMP_NUM_THREADS": "1", "DRYNPU_QUIET": "1"}


@pytest.fixture(scope="session")
def torchrun(scripts: Any) -> Callable[..., Any]:
    """Return a function that runs a script in several processes, started by torchrun."""

    def run(script: Path, *arguments: str, ranks: int, **options: Any) -> Any:
        program = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks))
        return scripts(script, *arguments, program=program, environment=_SETTINGS, **options)

    return run


@pytest.fixture(scope="session")
def run_ranks(scripts: Any) -> Callable[..., Any]:
    """Return a function that runs a script as the ranks of a job; each starts sooner than under torchrun."""

    def run(script: Path, *arguments: str, ranks: int, folder: Path | None = None) -> Any:
        folder = folder or scripts.new_folder()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        job = {**_SETTINGS, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
        job |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}

        def start(rank: int) -> Any:
            return scripts(
                script, *arguments, folder=folder, environment={**job, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            )

        with ThreadPoolExecutor(ranks) as pool:
            done = list(pool.map(start, range(ranks)))
        return evolve(done[0], stdout="".join(run.stdout for run in done), stderr="".join(run.stderr for run in done))

    return run


def rank_of(output: Any) -> int:
    (info,) = output.path.glob("profiler_info_*.json")
    return int(info.stem.rpartition("_")[2])


@pytest.fixture(scope="session")
def by_rank() -> Callable[[Any, str], list[Any]]:
    """Return a function that gives the result directories of a job in order of rank."""
    return lambda run, below: sorted(run.outputs(below), key=rank_of)
