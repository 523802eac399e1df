"""Operators of images, volumes and sparse updates that training scripts of the model collection use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from drynpu.kernels import KernelPlan, TaskType

Plan = Callable[..., KernelPlan]
I32, I64 = "int32", "int64"
V, C, CPU = TaskType.AI_VECTOR_CORE, TaskType.AI_CORE, TaskType.AI_CPU
SIZE = ((2,), I32)
X = (2, 4, 6, 3)
"""An image of 144 numbers, 576 bytes."""

VECTOR = [
    # type, inputs, outputs, attributes, kernel type, element operations, bytes read, bytes written
    ("ResizeBilinear", [X, SIZE], [(2, 8, 12, 3)], "ResizeBilinearV2D", 8 * 576, 576, 2304),
    ("ResizeBilinearGrad", [(2, 8, 12, 3), X], [X], "ResizeBilinearV2Grad", 8 * 576, 2304, 576),
    ("ResizeNearestNeighbor", [X, SIZE], [(2, 8, 12, 3)], "ResizeNearestNeighborV2D", 576, 576, 2304),
    ("ResizeNearestNeighborGrad", [(2, 8, 12, 3), SIZE], [X], "ResizeNearestNeighborV2GradD", 576, 2304, 576),
    ("LRN", [X], [X], "LRN", 8 * 144, 576, 576),
    ("LRNGrad", [X, X, X], [X], "LRNGrad", 14 * 144, 3 * 576, 576),
    ("SpaceToDepth", [X], [(2, 2, 3, 12)], "SpaceToDepth", 0, 576, 576),
    ("DepthToSpace", [(2, 2, 3, 12)], [X], "DepthToSpace", 0, 576, 576),
    ("SpaceToBatchND", [X, SIZE, ((2, 2), I32)], [(8, 3, 4, 3)], "SpaceToBatchNDD", 0, 576, 1152),
    ("SpaceToBatch", [X, ((2, 2), I32)], [(8, 2, 3, 3)], "SpaceToBatchD", 0, 576, 576),
    ("BatchToSpaceND", [(8, 3, 4, 3), SIZE, ((2, 2), I32)], [X], "BatchToSpaceNDD", 0, 576, 576),
    ("BatchToSpace", [(8, 2, 3, 3), ((2, 2), I32)], [X], "BatchToSpaceD", 0, 576, 576),
    ("ExtractImagePatches", [X], [(2, 3, 5, 12)], "ExtractImagePatches", 0, 576, 1440),
    ("TensorScatterSub", [(5, 3), ((2, 1), I32), (2, 3)], [(5, 3)], "TensorScatterSub", None, None, None),
]


@pytest.mark.parametrize(("op", "inputs", "outputs", "kernel", "operations", "read", "written"), VECTOR)
def test_vector_kernels(
    plan: Plan, op: str, inputs: Any, outputs: Any, kernel: str, operations: int | None, read: int, written: int
) -> None:
    (found,) = plan(op, inputs, outputs).kernels
    assert (found.op_type, found.task_type) == (kernel, V)
    if operations is not None:
        assert (found.vector_ops, found.bytes_read, found.bytes_written) == (operations, read, written)


WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def test_pooling_with_places_and_its_gradient(plan: Plan) -> None:
    y, places = (2, 2, 3, 3), ((2, 2, 3, 3), I64)
    (forward,) = plan("MaxPoolWithArgmax", [X], [y, places], **WINDOW).kernels
    assert (forward.op_type, forward.vector_ops) == ("MaxPoolWithArgmax", 4 * 36)
    assert [(t.shape, t.dtype) for t in forward.outputs] == [(y, "FLOAT"), (y, "INT64")]
    assert forward.bytes_written == 36 * 4 + 36 * 8
    (backward,) = plan("MaxPoolGradWithArgmax", [X, y, places], [X], **WINDOW).kernels
    assert (backward.op_type, backward.vector_ops) == ("MaxPoolGradWithArgmax", 36)
    assert (backward.bytes_read, backward.bytes_written) == (36 * 4 + 36 * 8, 576)


VOLUME, FILTER, RESULT = (2, 4, 5, 6, 3), (3, 3, 3, 3, 8), (2, 4, 5, 6, 8)
FLOPS = 2 * (2 * 4 * 5 * 6) * (27 * 3 * 8)


@pytest.mark.parametrize(
    ("op", "inputs", "output", "kernel"),
    [
        ("Conv3D", [VOLUME, FILTER], RESULT, "Conv3D"),
        ("Conv3DBackpropInputV2", [((5,), I32), FILTER, RESULT], VOLUME, "Conv3DBackpropInputD"),
        ("Conv3DBackpropFilterV2", [VOLUME, ((5,), I32), RESULT], FILTER, "Conv3DBackpropFilterD"),
    ],
)
def test_volumes_are_convolved_by_the_cube(plan: Plan, op: str, inputs: Any, output: Any, kernel: str) -> None:
    kernels = plan(op, inputs, [output], strides=[1] * 5, padding="SAME", data_format="NDHWC").kernels
    (main,) = (k for k in kernels if k.task_type is C)
    assert (main.op_type, main.cube_flops) == (kernel, FLOPS)
    formats = [t.format for t in (*main.inputs, *main.outputs)]
    assert sorted(formats) == ["FRACTAL_Z_3D", "NDC1HWC0", "NDC1HWC0"]
    outside = {t.format for k in kernels if k.op_type == "TransData" for t in (*k.inputs, *k.outputs)}
    assert outside - {"FRACTAL_Z_3D", "NDC1HWC0"} == {"NDHWC", "DHWCN"}


def test_what_a_convolution_of_volumes_makes_without_a_known_result(plan: Plan) -> None:
    found = plan("Conv3D", [(2, 7, 7, 7, 3), FILTER], [], strides=[1, 2, 2, 2, 1], padding="VALID")
    (main,) = (k for k in found.kernels if k.task_type is C)
    assert main.outputs[0].shape == (2, 3, 1, 3, 3, 8)
    assert main.cube_flops == 2 * 2 * 27 * (27 * 3 * 8)


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "kernel"),
    [
        ("RGBToHSV", [X], [X], "RGBToHSV"),
        ("HSVToRGB", [X], [X], "HSVToRGB"),
        ("AdjustHue", [X, ()], [X], "AdjustHue"),
        ("AdjustSaturation", [X, ()], [X], "AdjustSaturation"),
        ("AdjustContrastv2", [X, ()], [X], "AdjustContrast"),
        ("ResizeBicubic", [X, SIZE], [(2, 8, 12, 3)], "ResizeBicubic"),
        ("MirrorPadGrad", [(2, 6, 8, 3), ((4, 2), I32)], [X], "MirrorPadGrad"),
    ],
)
def test_colours_are_work_of_the_ai_cpu(plan: Plan, op: str, inputs: Any, outputs: Any, kernel: str) -> None:
    (found,) = plan(op, inputs, outputs).kernels
    assert (found.op_type, found.task_type) == (kernel, CPU)
    assert found.bytes_written == sum(t.size_bytes for t in found.outputs) > 0


@pytest.mark.parametrize(
    ("op", "states", "scalars", "task"),
    [
        ("SparseApplyProximalAdagrad", 2, 3, V),
        ("ResourceSparseApplyProximalGradientDescent", 1, 3, CPU),
        ("SparseApplyCenteredRMSProp", 4, 4, CPU),
    ],
)
def test_sparse_updates_move_the_rows_of_the_index(plan: Plan, op: str, states: int, scalars: int, task: Any) -> None:
    inputs = [*[(50, 4)] * states, *[()] * scalars, (3, 4), ((3,), I32)]
    (found,) = plan(op, inputs, []).kernels
    assert found.task_type is task
    assert found.bytes_written == states * 48
    assert found.bytes_read == states * 48 + 48 + 12


TEXT = ((3,), "string")


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [
        ("Select", [((), "bool"), ((), "string"), ((), "string")], [((), "string")]),
        ("SelectV2", [((3,), "bool"), TEXT, TEXT], [TEXT]),
        ("Equal", [TEXT, ((), "string")], [((3,), "bool")]),
        ("Pack", [((), "string")] * 3, [TEXT]),
        ("DisableCopyOnRead", [((), "resource")], []),
        ("ReaderReadV2", [((), "resource")] * 2, [((), "string")] * 2),
        ("RandomShuffleQueueV2", [], [((), "resource")]),
        ("QueueDequeueManyV2", [((), "resource"), ((), I32)], [X]),
    ],
)
def test_what_the_host_alone_does_launches_nothing(plan: Plan, op: str, inputs: Any, outputs: Any) -> None:
    found = plan(op, inputs, outputs)
    assert found.mapped
    assert found.kernels == ()
