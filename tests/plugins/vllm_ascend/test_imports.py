"""What is served or changed when an engine imports it; small packages stand for the engine's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

QUEUE = """
class MessageQueue:
    @staticmethod
    def create_from_process_group(group, size, blocks=6):
        return "queue"
"""
PRINT_QUEUE = """
import torch_npu
from vllm.distributed.device_communicators.shm_broadcast import MessageQueue
print(MessageQueue.create_from_process_group(None, 1, blocks=2))
"""


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    for package in ("vllm", "vllm/distributed", "vllm/distributed/device_communicators", "vllm_ascend"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "vllm/distributed/device_communicators/shm_broadcast.py").write_text(QUEUE)
    return tmp_path


def _run(folder: Path, script: str, *options: str) -> str:
    (folder / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(folder), "DRYNPU_QUIET": "1"}
    command = [str(Path(sys.executable).with_name("drynpu")), "run", "-q", *options, "script.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_rank_without_its_peers_has_no_queue_for_them(engine: Path) -> None:
    assert _run(engine, PRINT_QUEUE).strip() == "queue"
    assert _run(engine, PRINT_QUEUE, "--world", "4", "--ranks", "1").splitlines()[-1] == "None"


@pytest.mark.slow
def test_the_compiled_module_is_served_unless_there_is_one(engine: Path) -> None:
    script = "import torch, torch_npu\nimport vllm_ascend.vllm_ascend_C as compiled\nprint({})"
    served = script.format("hasattr(torch.ops._C_ascend, 'npu_add_rms_norm_bias')")
    assert _run(engine, served).strip() == "True"
    (engine / "vllm_ascend" / "vllm_ascend_C.py").write_text("HERE = 'theirs'")
    assert _run(engine, script.format("compiled.HERE")).strip() == "theirs"
