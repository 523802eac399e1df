"""
Trainers with commands and profilers of their own have on the simulated NPU the losses that they have on the CPU.

Their requirements conflict with the other packages', so they have an environment of their own, which
``make test-packages`` makes as well.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).with_name("scripts")
ROUNDING = 1e-6
FUSED = 2e-5
"""ms-swift replaces norms, rotary embeddings and SwiGLU of a model on the NPU by the vendor's fused operators."""
ONE = {"ASCEND_RT_VISIBLE_DEVICES": "0"}
TWO = {"ASCEND_RT_VISIBLE_DEVICES": "0,1"}
ANY_VERSION = {"DISABLE_VERSION_CHECK": "1"}
"""LLaMA-Factory 0.9.5 wants an older datasets than ms-swift 4.6.0 does."""
STEPS = 4


@pytest.fixture(scope="session")
def programs() -> Path:
    folder = Path(os.environ.get("DRYNPU_TRAINERS_VENV") or ROOT / ".venv-trainers") / "bin"
    if not (folder / "drynpu").is_file():
        pytest.fail(f"{folder / 'drynpu'} is not there; make test-packages sets it up (or set DRYNPU_TRAINERS_VENV)")
    return folder


@pytest.fixture
def model(execute: Callable[..., str], tmp_path: Path) -> Path:
    """Make a tiny decoder with a tokenizer and questions with answers."""
    folder = tmp_path / "tiny"
    execute("python", str(SCRIPTS / "tiny_chat_model.py"), str(folder))
    return folder


@pytest.fixture
def train(execute: Callable[..., str], tmp_path: Path) -> Callable[..., tuple[list[float], list[Path]]]:
    """Run the module of a command, plain or profiled; return the losses of its log and its profiles."""

    def run(where: str, module: str, *arguments: str, log: str, **variables: str) -> tuple[list[float], list[Path]]:
        profiled = ("drynpu", "run", "--quiet", "--profile", "--profile-steps", "all", "--profile-output", "profiles")
        launcher = profiled if where == "npu" else ("python",)
        execute(*launcher, "-m", module, *arguments, folder=where, **variables)
        (written,) = (tmp_path / where).rglob(log)
        rows = [json.loads(line) for line in written.read_text().splitlines()]
        losses = [row["loss"] for row in rows if "loss" in row]
        return losses, sorted((tmp_path / where / "profiles").glob("*_ascend_pt"))

    return run


def _kernels(profile: Path) -> int:
    """Return how many kernels a profile holds; it fails where an operator had no rule."""
    assert json.loads((profile / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"] == {}
    folder = profile / "ASCEND_PROFILER_OUTPUT"
    if (folder / "kernel_details.csv").is_file():
        return len((folder / "kernel_details.csv").read_text().splitlines()) - 1
    with sqlite3.connect(folder / "ascend_pytorch_profiler.db") as database:
        return int(database.execute("select count(*) from COMPUTE_TASK_INFO").fetchone()[0])


def _marks(profile: Path) -> set[str]:
    with sqlite3.connect(profile / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler.db") as database:
        rows = database.execute("select value from MSTX_EVENTS join STRING_IDS on message = STRING_IDS.id")
        return {row[0] for row in rows}


@pytest.fixture
def both(execute: Callable[..., str], tmp_path: Path) -> Callable[[str], Any]:
    """Run a script that records its profiles itself on the CPU and on the NPU; return both results and the folder."""

    def run(script: str) -> tuple[dict[str, Any], dict[str, Any], Path]:
        path = str(SCRIPTS / script)
        plain = execute("python", path, folder="plain")
        simulated = execute("drynpu", "run", "--quiet", path, folder="npu")
        results = [json.loads(text.partition("RESULT ")[2].splitlines()[0]) for text in (plain, simulated)]
        assert [result.pop("device") for result in results] == ["cpu", "npu"]
        return results[0], results[1], tmp_path / "npu" / "profiles"

    return run


def test_transformers_with_a_callback_that_profiles(both: Callable[[str], Any]) -> None:
    plain, simulated, profiles = both("trainer_callback.py")
    assert len(plain["losses"]) == 5
    assert simulated["losses"] == pytest.approx(plain["losses"], rel=ROUNDING)
    (profile,) = profiles.glob("*_ascend_pt")
    assert _kernels(profile) > 100
    steps = (profile / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").read_text().splitlines()
    assert len(steps) == 1 + 2


def test_stages_of_verl(both: Callable[[str], Any]) -> None:
    """The answers are drawn, by the same numbers on both."""
    plain, simulated, profiles = both("verl_stages.py")
    for name, expected in plain.items():
        assert simulated[name] == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING), name
    assert len(set(plain["rewards"])) == 3
    (whole,) = (profiles / "whole" / "actor").glob("*_ascend_pt")
    stages = {"rollout_generate": 1, "actor_compute_log_prob": 1, "actor_update": 2}
    assert _marks(whole) == {"step", *stages}
    for stage, times in stages.items():
        alone = list((profiles / "stages" / stage).glob("*_ascend_pt"))
        assert len(alone) == times
        assert all(stage in _marks(each) and 20 < _kernels(each) < _kernels(whole) for each in alone)


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_llama_factory_trains(tuning: str, train: Callable[..., Any], model: Path) -> None:
    options = _llama_factory(model, tuning)
    losses, _ = train("plain", *options, log="trainer_log.jsonl", **ANY_VERSION)
    simulated, profiles = train("npu", *options, log="trainer_log.jsonl", **ONE, **ANY_VERSION)
    assert len(losses) == STEPS
    assert simulated == pytest.approx(losses, rel=ROUNDING)
    assert [_kernels(each) > 500 for each in profiles] == [True]


def test_llama_factory_starts_a_process_for_each_device(train: Callable[..., Any], model: Path) -> None:
    """It counts the devices and starts torchrun by itself; half a batch on each is the batch of one device."""
    losses, _ = train("plain", *_llama_factory(model, "full"), log="trainer_log.jsonl", **ANY_VERSION)
    halves = _llama_factory(model, "full", per_device_train_batch_size=2)
    simulated, profiles = train("npu", *halves, log="trainer_log.jsonl", **TWO, **ANY_VERSION)
    assert simulated == pytest.approx(losses, rel=1e-4)  # the loss is the mean of two means, printed by one rank
    assert [_kernels(each) > 500 for each in profiles] == [True, True]


def test_ms_swift_trains(train: Callable[..., Any], model: Path) -> None:
    data = {"model": model, "dataset": model / "talks.jsonl", "model_type": "qwen2", "template": "qwen"}
    steps = {"max_steps": STEPS, "logging_steps": 1, "per_device_train_batch_size": 4, "learning_rate": 3e-3, "seed": 3}
    plain = {"tuner_type": "full", "torch_dtype": "float32", "gradient_accumulation_steps": 1}
    little = {"report_to": "none", "save_strategy": "no", "load_from_cache_file": "false", "split_dataset_ratio": 0}
    command = ["swift.cli.main", "sft", *(f"--{k}={v}" for k, v in {**data, **steps, **plain, **little}.items())]
    losses, _ = train("plain", *command, "--output_dir=out", log="logging.jsonl")
    simulated, profiles = train("npu", *command, "--output_dir=out", log="logging.jsonl", **ONE)
    assert len(losses) == STEPS
    assert simulated == pytest.approx(losses, rel=FUSED)
    assert [_kernels(each) > 500 for each in profiles] == [True]


def _llama_factory(model: Path, tuning: str, **changes: object) -> list[str]:
    data = {"model_name_or_path": model, "dataset_dir": model, "dataset": "talks", "template": "qwen", "cutoff_len": 64}
    steps = {"logging_steps": 1, "max_steps": STEPS, "per_device_train_batch_size": 4, "learning_rate": 3e-3, "seed": 3}
    how = {"stage": "sft", "do_train": "true", "finetuning_type": tuning, "lora_rank": 4, "output_dir": "out"}
    little = {"report_to": "none", "save_strategy": "no"}
    options = {**data, **steps, **how, **little, **changes}
    return ["llamafactory.cli", "train", *(f"--{name}={value}" for name, value in options.items())]
