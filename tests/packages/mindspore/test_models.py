"""Models of MindCV and MindFormers train on the simulated NPU: losses are finite, every kernel is known."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODES = ("GRAPH", "PYNATIVE")
# One of each family that MindCV 0.3.0 builds with MindSpore 2.7.2. Few for a process, whose memory MindSpore keeps.
FAMILIES = (
    ("BiT_resnet50", "cait_xxs24_224", "coat_lite_tiny", "convit_tiny", "convnext_tiny", "convnextv2_atto"),
    ("crossvit_9", "densenet121", "dpn92", "edgenext_xx_small", "efficientnet_b0", "ghostnet_050", "googlenet"),
    ("mixnet_s", "mlp_mixer_s_p32", "mnasnet_050", "mobilenet_v1_025", "mobilenet_v3_small_100", "mobilevit_xx_small"),
    ("pit_ti", "poolformer_s12", "pvt_v2_b0", "regnet_x_200mf", "repmlp_t224", "repvgg_a0", "res2net50", "resnest50"),
    ("resnet18", "resnetv2_50", "resnext50_32x4d", "seresnet18", "shufflenet_v1_g3_05", "shufflenet_v2_x0_5"),
    ("skresnet18", "squeezenet1_0", "swin_tiny", "visformer_tiny", "vit_b_32_224", "xception"),
)
_RESULT = re.compile(r"\w+=[\d\[]")
LANGUAGE = [("llama",), ("llama", "flash"), ("glm2",)]


def run(folder: Path, script: str, *arguments: str, under: tuple[str, ...] = ()) -> dict[str, object]:
    """Return what a script printed, after a look at the profiles that it left; *under* starts it as ranks."""
    programs = Path(os.environ["DRYNPU_MINDSPORE_PACKAGES_VENV"]) / "bin"
    done = subprocess.run(
        [*under, "python", "-m", "drynpu", "run", str(HERE / script), *arguments],
        cwd=folder,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    profiles = list((folder / "profiled").glob("*/*_ascend_ms"))
    assert profiles
    for profile in profiles:
        about = json.loads((profile / "profiler_metadata.json").read_text())["drynpu"]
        assert about["unmapped_operators"] == {}
        assert "unknown_kernels" not in about
        with (profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
            assert "N/A" not in {row["Duration(us)"] for row in csv.DictReader(file)}
    logs = [path.read_text() for path in folder.glob("logs/worker_*.log")] or [done.stdout]
    pairs = (line.partition("=") for log in logs for line in log.splitlines() if _RESULT.match(line))
    found: dict[str, object] = {}
    for name, _, value in pairs:
        assert found.setdefault(name, json.loads(value)) == json.loads(value)  # ranks have the same
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("names", FAMILIES, ids=lambda names: names[0])
def test_image_models_train(tmp_path: Path, mode: str, names: tuple[str, ...]) -> None:
    losses = run(tmp_path, "image_models.py", mode, *names)
    assert set(losses) == set(names)
    assert all(isinstance(loss, float) and math.isfinite(loss) for loss in losses.values())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", LANGUAGE, ids="-".join)
def test_language_models_train(tmp_path: Path, mode: str, model: tuple[str, ...]) -> None:
    first, second, third = run(tmp_path, "language_models.py", mode, *model)["losses"]  # type: ignore[misc]
    assert first > second > third > 0


def test_a_language_model_trains_split_as_it_does_whole(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "split")]
    for folder in folders:
        folder.mkdir()
    ranks = ("msrun", "--worker_num=2", "--local_worker_num=2", "--master_port=9157", "--join=True", "--log_dir=logs")
    whole, split = (
        run(folder, "split_language_model.py", folder.name, under=under)
        for folder, under in zip(folders, ((), ranks), strict=True)
    )
    assert split["losses"] == pytest.approx(whole["losses"], rel=1e-6)
    assert len(list((tmp_path / "split" / "profiled" / "model").iterdir())) == 2
