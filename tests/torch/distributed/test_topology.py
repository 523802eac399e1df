"""``drynpu run --topology``: a rank without its peers moves its bytes over the links that a file states."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "world_script.py"
QUIET = {"OMP_NUM_THREADS": "1", "DRYNPU_QUIET": "1"}
CLUSTER = """
nodes: 2
devices: 2
hccs: {shape: mesh, gbs: 19, latency_us: 3}
roce: {gbs: 11, latency_us: 4}
efficiency: 0.5
"""


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topology") / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


def started(scripts: Any, *options: str, status: int = 0) -> Any:
    program = (sys.executable, "-m", "drynpu", "run", *options)
    return scripts(SCRIPT, "out", program=program, environment=QUIET, status=status)


def test_links_rates_and_nodes_are_those_of_the_file(scripts: Any, topology: Path, by_rank: Callable[..., Any]) -> None:
    run = started(scripts, "--world", "4", "--ranks", "3", "--topology", str(topology))
    output = by_rank(run, "out/ddp")[0]
    assert output.document("profiler_metadata.json")["drynpu"]["topology"] == str(topology)
    steps = output.document("ASCEND_PROFILER_OUTPUT/communication_matrix.json").values()
    rates: dict[str, float] = {}
    for step in steps:
        for links in step["collective"].values():
            for pair, link in links.items():
                if len(set(pair.split("-"))) == 2:
                    kind = link["Transport Type"]
                    rates[kind] = max(rates.get(kind, 0.0), link["Bandwidth(GB/s)"])
    assert set(rates) == {"HCCS", "RDMA"}
    assert 0 < rates["HCCS"] <= 19 / 2
    assert 0 < rates["RDMA"] <= 11 / 2


def test_a_world_that_the_cluster_has_no_room_for_does_not_start(scripts: Any, topology: Path) -> None:
    run = started(scripts, "--world", "5", "--topology", str(topology), status=2)
    assert "a world of 5 does not fit" in run.stderr
    assert "2 nodes of 2 devices, 4 ranks" in run.stderr
    run = started(scripts, "--world", "4", "--nproc-per-node", "3", "--topology", str(topology), status=2)
    assert "--nproc-per-node 3: the nodes of" in run.stderr
