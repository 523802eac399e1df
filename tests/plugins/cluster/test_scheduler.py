"""The same work on a dask.distributed cluster: the same bytes, also when a worker is killed half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu_cluster import analyse_cluster, find_cluster, spread
from drynpu_cluster.synth import SynthOptions, synthesise

distributed = pytest.importorskip("distributed", reason="THE EXTRA cluster IS NOT INSTALLED: --scheduler IS UNTESTED")

pytestmark = pytest.mark.slow

RANKS = 60


@pytest.fixture
def scheduler() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def slowly(number: int) -> int:
    time.sleep(0.1)
    return number * number


def ranks_begun(output: Path) -> int:
    """How many ranks have a folder for their tables below the output of an analysis that runs."""
    return len(list(output.glob(".drynpu-cluster-*/rank_*")))


def pids(address: str) -> list[int]:
    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_writes_the_same_bytes(scheduler: str, text_run: Path, tmp_path: Path) -> None:
    synthesise(find_cluster(text_run), tmp_path / "many", SynthOptions(RANKS))
    here = analyse_cluster(find_cluster(tmp_path / "many"), tmp_path / "here")
    there = analyse_cluster(find_cluster(tmp_path / "many"), tmp_path / "there", scheduler=scheduler)
    for first, second in zip(here.files, there.files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    # The tables of the ranks are gone.
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["cluster_analysis_output"]


@pytest.mark.filterwarnings("ignore")
def test_work_of_a_killed_worker_is_done_by_another(scheduler: str) -> None:
    before = pids(scheduler)
    killer = f"import os, signal, time; time.sleep(1); os.kill({before[0]}, signal.{signal.SIGKILL.name})"
    with subprocess.Popen([sys.executable, "-c", killer]):
        results = list(spread(slowly, list(range(40)), stage="Reading", scheduler=scheduler))
    assert results == [number * number for number in range(40)]
    assert before[0] not in pids(scheduler)


@pytest.mark.filterwarnings("ignore")
def test_an_analysis_of_which_a_worker_is_killed_half_way_writes_the_same_bytes(
    scheduler: str, text_run: Path, tmp_path: Path
) -> None:
    synthesise(find_cluster(text_run), tmp_path / "many", SynthOptions(RANKS))
    many = find_cluster(tmp_path / "many")
    here = analyse_cluster(many, tmp_path / "here")
    killed, other = pids(scheduler)
    done_at_kill: list[int] = []

    def kill() -> None:
        # Stopped first: it keeps its part of the ranks, however fast the other worker is, until it is gone.
        while not ranks_begun(tmp_path / "there"):
            time.sleep(0.001)
        os.kill(killed, signal.SIGSTOP)
        time.sleep(1)
        done_at_kill.append(ranks_begun(tmp_path / "there"))
        os.kill(killed, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    there = analyse_cluster(many, tmp_path / "there", scheduler=scheduler)
    killer.join()
    assert 0 < done_at_kill[0] < RANKS
    assert killed not in pids(scheduler)
    assert other in pids(scheduler)
    for first, second in zip(here.files, there.files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert there.notes == here.notes


@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drynpu_cluster._spread.CONNECT_S", 1)
    with pytest.raises(OutputError, match="no dask scheduler answers at tcp://127.0.0.1:9"):
        list(spread(slowly, [1], stage="Reading", scheduler="tcp://127.0.0.1:9"))
