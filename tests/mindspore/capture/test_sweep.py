"""What is thrown away of the graphs that MindSpore saves while nothing records."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from drynpu_mindspore.capture import _graphs


def test_compiled_graphs_stay_and_everything_else_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"graph_build_0_0395.ir", "hwopt_d_after_optimization_without_backend_graph_4000_0001.ir"}
    unwanted = {"fg_0_0001.ir", "opt_substep_add_attr_r1_j0_1_meta_addattr_fg_expand_0006.ir", "rank_0/final_actor.ir"}
    (tmp_path / "rank_0").mkdir()
    for name in wanted | unwanted:
        (tmp_path / name).touch()
    monkeypatch.setattr(_graphs, "_SWEEP_S", 0.01)
    quiet = threading.Event()
    sweeping = threading.Thread(target=_graphs._sweep, args=(tmp_path, quiet))
    sweeping.start()
    for _ in range(1000):
        if not any((tmp_path / name).exists() for name in unwanted):
            break
        time.sleep(0.01)
    quiet.set()
    sweeping.join()
    assert {path.name for path in tmp_path.rglob("*.ir")} == wanted
