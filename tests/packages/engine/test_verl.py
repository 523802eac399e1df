"""
verl's own trainer: Ray starts its workers on two devices, the engine draws answers, FSDP trains on them.

What the engine said is noted by the script's reward, so that plain PyTorch can do the same steps on the CPU.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STEPS, QUESTIONS, ANSWERS, LONGEST = 2, 4, 4, 8
RAY = {"ASCEND_RT_VISIBLE_DEVICES": "0,1", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
PATIENCE_S = 1500


@pytest.fixture
def ray_folder() -> Iterator[str]:
    """Return a folder with a short name: Ray's sockets lie deep in it."""
    with tempfile.TemporaryDirectory(prefix="ray_", ignore_cleanup_errors=True) as folder:
        yield folder


def _options(inputs: Path, ray_folder: str) -> list[str]:
    data = {"train_files": inputs / "questions.parquet", "val_files": inputs / "questions.parquet"}
    data |= {"train_batch_size": QUESTIONS, "max_prompt_length": 32, "max_response_length": LONGEST}
    data |= {"shuffle": False, "dataloader_num_workers": 0}
    actor = {"strategy": "fsdp", "optim.lr": 1e-3, "use_kl_loss": False, "use_torch_compile": False}
    actor |= {"ppo_mini_batch_size": QUESTIONS, "ppo_micro_batch_size_per_gpu": 4}
    exact = {"param_dtype": "fp32", "reduce_dtype": "fp32"}
    rollout = {"name": "vllm", "n": ANSWERS, "tensor_model_parallel_size": 2, "enforce_eager": True}
    rollout |= {"max_num_seqs": 16, "max_num_batched_tokens": 256, "max_model_len": 64, "agent.num_workers": 1}
    rollout |= {"gpu_memory_utilization": 0.1, "log_prob_micro_batch_size_per_gpu": 4}
    rollout |= {"checkpoint_engine.update_weights_bucket_megabytes": 16}
    profiler = {"enable": True, "all_ranks": True}
    recorded = {"discrete": True, "contents": "[npu,cpu]", "level": "level1"}
    trainer = {"device": "npu", "n_gpus_per_node": 2, "nnodes": 1, "total_training_steps": STEPS, "logger": "[file]"}
    trainer |= {"save_freq": -1, "test_freq": -1, "val_before_train": False, "resume_mode": "disable"}
    reward = {"num_workers": 1, "custom_reward_function.path": HERE / "verl_reward.py"}
    reward |= {"reward_manager.source": "importlib", "reward_manager.name": "NotingRewardManager"}
    reward |= {"reward_manager.module.path": HERE / "verl_reward.py"}
    options = {
        "algorithm": {"adv_estimator": "grpo"},
        "data": data,
        "actor_rollout_ref.model": {"path": inputs / "model", "use_remove_padding": True},
        "actor_rollout_ref.actor": actor,
        "actor_rollout_ref.actor.fsdp_config": {"use_torch_compile": False},
        "+actor_rollout_ref.actor.fsdp_config.mixed_precision": exact,
        "actor_rollout_ref.actor.profiler": profiler,
        "actor_rollout_ref.actor.profiler.tool_config.npu": recorded,
        "actor_rollout_ref.rollout": rollout,
        "+actor_rollout_ref.rollout.engine_kwargs.vllm.additional_config": {"weight_nz_mode": 0},
        "reward": reward,
        "transfer_queue.backend.SimpleStorage": {"num_data_storage_units": 1},
        "trainer": trainer,
        "global_profiler": {"tool": "npu", "steps": f"[{STEPS}]", "save_path": "profiles"},
        "ray_kwargs.ray_init": {"num_cpus": 16},
        "+ray_kwargs.ray_init": {"object_store_memory": 200_000_000, "_temp_dir": ray_folder},
    }
    return [f"{group}.{name}={value}" for group, values in options.items() for name, value in values.items()]


def _kernel_count(profile: Path) -> int:
    """Return how many kernels a profile holds; it fails where an operator had no rule."""
    assert json.loads((profile / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"] == {}
    folder = profile / "ASCEND_PROFILER_OUTPUT"
    if (folder / "kernel_details.csv").is_file():
        return len((folder / "kernel_details.csv").read_text().splitlines()) - 1
    (path,) = folder.glob("ascend_pytorch_profiler*.db")
    with sqlite3.connect(path) as database:
        return int(database.execute("select count(*) from COMPUTE_TASK_INFO").fetchone()[0])


@pytest.mark.timeout(PATIENCE_S + 300)
def test_grpo(
    execute: Callable[..., str],
    offline: Callable[..., str],
    program: Callable[..., Any],
    ray_folder: str,
    tmp_path: Path,
) -> None:
    inputs, run, log = tmp_path / "inputs", tmp_path / "run", tmp_path / "log.jsonl"
    offline("python", str(HERE / "verl_inputs.py"), str(inputs))
    command = ("drynpu", "run", "--quiet", "-m", "verl.trainer.main_ppo", *_options(inputs, ray_folder))
    # Ray starts its workers with niceness 15, so on a busy machine they would hardly run.
    offline(*command, limit_s=PATIENCE_S, VERL_FILE_LOGGER_PATH=str(log), RAY_worker_niceness="0", **RAY)

    rows = [json.loads(line) for line in (run / "said.jsonl").read_text().splitlines()]
    assert len(rows) == STEPS * QUESTIONS * ANSWERS
    words = json.loads((inputs / "model" / "config.json").read_text())["vocab_size"]
    assert all(0 < len(row["answer"]) <= LONGEST and max(row["answer"]) < words for row in rows)
    steps = [json.loads(line)["data"] for line in log.read_text().splitlines()]
    expected = program("verl_steps.py", str(inputs / "model"), str(run / "said.jsonl"), str(STEPS))
    for step, plain in zip(steps, expected, strict=True):
        assert step["actor/pg_loss"] == pytest.approx(plain["loss"], abs=1e-6)
        assert step["actor/grad_norm"] == pytest.approx(plain["norm"], rel=1e-5)
        assert step["critic/score/mean"] == pytest.approx(plain["reward"], rel=1e-6)
        # The engine, in bfloat16, has the weights of this step.
        assert step["training/rollout_actor_probs_pearson_corr"] > 0.99

    offline("drynpu", "analyze", str(run / "profiles" / "agent_loop_rollout_replica_0"))
    for stage in ("agent_loop_rollout_replica_0", "actor_compute_log_prob", "actor_update"):
        profiles = sorted((run / "profiles" / stage).glob("*_ascend_pt"))
        assert len(profiles) == 2, stage
        assert min(map(_kernel_count, profiles)) > 100
        assert "Costs are" in offline("drynpu", "advise", str(run / "profiles" / stage))
