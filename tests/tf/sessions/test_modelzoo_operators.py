"""Operators of images, volumes and texts, as a session leaves them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(scripts: Any, request: Any) -> Any:
    return scripts(request.path.with_name("modelzoo_operators.py"), environment={"DRYNPU_QUIET": "1"})


KERNELS = """
ResizeBilinearV2 ResizeBilinearV2Grad ResizeNearestNeighborV2 ResizeNearestNeighborV2Grad MirrorPad MirrorPadGrad LRN
LRNGrad Conv3D Conv3DBackpropInput Conv3DBackpropFilter MaxPool3D MaxPool3DGrad AvgPool3D AvgPool3DGrad SpaceToDepth
DepthToSpace SpaceToBatchND BatchToSpaceND ExtractImagePatches MaxPoolWithArgmax RGBToHSV HSVToRGB AdjustHue
AdjustSaturation AdjustContrast ResizeBicubic
"""


def test_every_operator_has_its_kernel_with_shapes_and_none_is_unmapped(run: Any) -> None:
    prof = run.prof()
    rows = prof.rows("op_summary")
    types = {row["OP Type"] for row in rows}
    missing = {name for name in KERNELS.split() if not {name, f"{name}D"} & types}
    assert not missing
    assert not [row["Op Name"] for row in rows if "Unmapped" in row["Op Name"]]
    metadata = json.loads((prof.path / "profiler_metadata.json").read_text(encoding="utf-8"))
    assert not metadata["drynpu"].get("unmapped_operators")
    # A sparse update is given its variable by a handle, MemSet lists nothing.
    bare = {row["OP Type"] for row in rows if row["Output Shapes"] in ("", "N/A")}
    assert bare == {"MemSet", "SparseApplyProximalGradientDescent"}


def test_volumes_work_on_the_cube_and_colours_on_the_ai_cpu(run: Any) -> None:
    rows = run.prof().rows("op_summary")
    task = {row["OP Type"]: row["Task Type"] for row in rows}
    volumes = {row["Task Type"] for row in rows if row["OP Type"].startswith("Conv3D")}
    assert volumes == {"AI_CORE"}
    assert {task[name] for name in ("RGBToHSV", "HSVToRGB", "AdjustHue", "MirrorPadGrad")} == {"AI_CPU"}


def test_texts_are_chosen_by_the_host(run: Any) -> None:
    assert run.printed("found")[1] == "b"
    types = run.prof().column("op_summary", "OP Type")
    assert not {"Select", "SelectV2"} & set(types)
