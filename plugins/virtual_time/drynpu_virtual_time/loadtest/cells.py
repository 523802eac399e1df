"""One run of a benchmark: the engine in a process of its own, on virtual time."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import astuple, frozen

from drynpu import CommandError
from drynpu_virtual_time.loadtest.metrics import Objective, Served, summarise
from drynpu_virtual_time.loadtest.workload import Request

_DRIVER: Final = Path(__file__).with_name("_driver.py")
_NEEDED: Final = ("vllm", "vllm_ascend")
_LONGEST_ERROR: Final = 4000


@frozen(kw_only=True)
class Cell:
    """One combination of the options."""

    chip: str
    tp: int
    dp: int = 1
    ep: bool = False
    batch_tokens: int
    rate: float
    seed: int
    model: Path
    arguments: Mapping[str, object]
    step_us: float
    request_us: float

    @property
    def name(self) -> str:
        """The folder of the run."""
        layout = f"tp{self.tp}" + (f"_dp{self.dp}" if self.dp > 1 else "") + ("_ep" if self.ep else "")
        return f"{self.chip}_{layout}_tokens{self.batch_tokens or 'default'}_rate{self.rate:g}"

    @property
    def title(self) -> str:
        """The run in words."""
        tokens = f", {self.batch_tokens} tokens a step" if self.batch_tokens else ""
        layout = f"TP {self.tp}" + (f", DP {self.dp}" if self.dp > 1 else "") + (", EP" if self.ep else "")
        return f"{self.chip}, {layout}{tokens}, {self.rate:g} requests/s"

    def part(self, requests: Sequence[Request]) -> Sequence[Request]:
        """Return the requests that the first of the data-parallel replicas gets: they come in turn."""
        return requests[:: self.dp]

    def engine_arguments(self) -> dict[str, object]:
        """Return the arguments of vLLM's engine; what the user says counts."""
        arguments: dict[str, object] = {
            "model": str(self.model),
            "load_format": "dummy",
            "skip_tokenizer_init": True,
            "async_scheduling": False,
            "seed": self.seed,
        }
        if self.tp * self.dp > 1:
            # Each rank is a process with an engine of its own; those that do not run are like the one that does.
            arguments |= {"tensor_parallel_size": self.tp, "distributed_executor_backend": "external_launcher"}
        if self.dp > 1:
            arguments["data_parallel_size"] = self.dp
        if self.ep:
            arguments["enable_expert_parallel"] = True
        if self.batch_tokens:
            arguments["max_num_batched_tokens"] = self.batch_tokens
        return arguments | dict(self.arguments)


def missing_engine() -> str:
    """Return a line about what to install, empty if the engine is there."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    how = "VLLM_TARGET_DEVICE=empty pip install --no-binary vllm vllm, and vllm-ascend with COMPILE_CUSTOM_KERNELS=0"
    return f"loadtest drives vLLM, and {' and '.join(missing)} cannot be imported here: {how}."


def run_cell(cell: Cell, requests: Sequence[Request], objective: Objective, folder: Path) -> dict[str, object]:
    """
    Serve the first replica's part of the requests and return its figures.

    *folder* gets the times of all tokens and steps.

    Raises
    ------
    CommandError
        The engine failed; with the end of what it said.
    """
    requests = cell.part(requests)
    folder.mkdir(parents=True, exist_ok=True)
    task, result = folder / "cell.json", folder / "served.json"
    document = {
        "engine": cell.engine_arguments(),
        "requests": [astuple(request) for request in requests],
        "seed": cell.seed,
        "step_ns": round(cell.step_us * 1000),
        "request_ns": round(cell.request_us * 1000),
    }
    task.write_text(json.dumps(document), encoding="utf-8")
    size = cell.tp * cell.dp
    world = ["--world", str(size), "--ranks", "0"] if size > 1 else []
    options = ["--time", "virtual", "--no-compute", "--quiet", "--chip", cell.chip, "--seed", str(cell.seed), *world]
    command = [sys.executable, "-m", "drynpu", "run", *options, str(_DRIVER), str(task), str(result)]
    environment = os.environ | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    (folder / "engine.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode or not result.exists():
        raise CommandError(f"{cell.title}: the engine failed:\n{done.stderr[-_LONGEST_ERROR:]}")
    served = json.loads(result.read_text(encoding="utf-8"))
    figures = summarise(Served(requests=requests, **served), objective, cell.chip)
    return {"title": cell.title, "folder": folder.name, **_axes(cell), **figures, "timeline": _timeline(served)}


def _axes(cell: Cell) -> dict[str, object]:
    layout = {"tp": cell.tp, "dp": cell.dp, "ep": cell.ep}
    return {"chip": cell.chip, **layout, "batch_tokens": cell.batch_tokens or None, "rate": cell.rate}


def _timeline(served: Mapping[str, Sequence[Mapping[str, object]]]) -> list[dict[str, object]]:
    """Return what the page draws of each step."""
    names = ("begin_s", "end_s", "kv_use", "waiting", "requests", "decoding", "prefill_tokens", "preempted")
    return [{name: step[name] for name in names} for step in served["steps"]]
