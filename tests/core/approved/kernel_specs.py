"""Kernels of every family, of every size, with the work that follows from their types and tensors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import attrs

from drynpu.kernels import (
    KernelSpec,
    TaskType,
    TensorDesc,
)
from drynpu_calibration import described_kernel

TYPES = ("FLOAT16", "FLOAT", "DT_BF16", "INT8", "INT32", "INT64", "DOUBLE", "BOOL")
FREE = (
    *("Add", "Mul", "RealDiv", "Cast", "Gelu", "Exp", "Sqrt", "SoftmaxV2", "SoftmaxGrad", "LayerNormV3", "RmsNorm"),
    *("LayerNormGradV3", "ReduceSum", "ReduceMeanD", "GatherV2", "ScatterNdUpdate", "IndexPutV2", "Sort", "TopKV2"),
    *("ApplyAdamW", "ApplyMomentumD", "TransData", "Transpose", "ZerosLike", "AtomicAddrClean", "ConcatD", "SliceD"),
    *("StridedSlice", "Assign", "TensorMove", "DynamicQuant", "AscendQuantV2", "RotaryPositionEmbedding", "Dropout"),
    *("BNTrainingReduce", "BNTrainingUpdateGrad", "MaxPool", "ResizeBilinearV2", "SoftmaxCrossEntropyWithLogits"),
    *("FusionOp_AddMul", "MoeInitRouting", "Unique", "SwiGlu", "NonZero", "Range", "OneHot", "DSARandomUniform"),
)
"""Types whose kernels take any tensors."""


def _dims(chance: random.Random, count: int) -> tuple[int, ...]:
    return tuple(max(round(2 ** chance.uniform(0, 11)) + chance.choice((0, 0, 1, -1)), 1) for _ in range(count))


def _tensor(*shape: int, dtype: str = "FLOAT16", layout: str = "ND") -> TensorDesc:
    return TensorDesc(shape, dtype, layout)


def _free(chance: random.Random) -> Iterator[KernelSpec]:
    tasks = (None, None, TaskType.AI_CPU, TaskType.MIX_AIV, TaskType.AI_CORE)
    for name in FREE:
        for number in range(3):
            shape, dtype = _dims(chance, 1 + (number + len(name)) % 4), chance.choice(TYPES)
            x, small = _tensor(*shape, dtype=dtype), _tensor(*shape[-1:], dtype=chance.choice(TYPES))
            inputs = ((x,), (x, small), (x, x, small, x))[number]
            out = _tensor(*shape[:-1], 1, dtype=dtype) if name.startswith("Reduce") else x
            outputs = ((out,), (out, small), ())[(number + len(name)) % 3]
            yield described_kernel(name, tasks[(number * 7 + len(name)) % 5], inputs, outputs)


def _products(chance: random.Random) -> Iterator[KernelSpec]:
    for number in range(24):
        m, k, n = _dims(chance, 3)
        dtype = ("FLOAT16", "FLOAT", "DT_BF16", "INT8")[number % 4]
        left = _tensor(*((k, m) if number % 3 == 1 else (m, k)), dtype=dtype)
        right = _tensor(*((n, k) if number % 5 == 2 else (k, n)), dtype=dtype)
        bias = (_tensor(n, dtype="FLOAT"),) if number % 4 == 3 else ()
        out = _tensor(m, n, dtype="INT32" if dtype == "INT8" else dtype)
        task = TaskType.MIX_AIC if number % 6 == 5 else TaskType.AI_CORE
        kind = "FusionOp_MatMulAdd" if number % 11 == 7 else ("MatMulV2", "MatMulV3")[number % 2]
        yield described_kernel(kind, task, (left, right, *bias), (out,), hf32=number % 8 == 1)
    for batch, m, k, n in ((3, 17, 64, 129), (16, 128, 128, 1), (1, 1, 4096, 512), (40, 256, 80, 256)):
        a, b = _tensor(batch, m, k), _tensor(batch, k, n)
        yield described_kernel("BatchMatMulV2", None, (a, b), (_tensor(batch, m, n),))
        yield described_kernel("BatchMatMulV3", None, (a, _tensor(k, n)), (_tensor(batch, m, n),))
        yield described_kernel("GroupedMatmul", TaskType.MIX_AIC, (_tensor(batch * m, k), b), (_tensor(batch * m, n),))
    blocked = (_tensor(8, 12, 16, 16, layout="FRACTAL_NZ"), _tensor(20, 8, 16, 16, layout="FRACTAL_NZ"))
    yield described_kernel("MatMulV2", None, blocked, (_tensor(20, 12, 16, 16, layout="FRACTAL_NZ"),))
    weight = _tensor(24, 5, 16, 16, layout="FRACTAL_Z")
    yield described_kernel(
        "FullyConnection", None, (_tensor(7, 24, 4, 4, 16, layout="NC1HWC0"), weight), (_tensor(7, 80),)
    )
    yield described_kernel("MatMulV2", None, (_tensor(33, 65), _tensor(91, 13)), (_tensor(33, 13),))
    yield described_kernel("MatMulV2", None, (_tensor(33, 65), _tensor(91, 13)), ())
    yield described_kernel("MatMulV2", None, (_tensor(0, 65), _tensor(65, 13)), (_tensor(0, 13),))
    yield described_kernel(
        "DynamicRNN", None, (_tensor(9, 4, 32), _tensor(96, 256), _tensor(256)), (_tensor(9, 4, 64),)
    )


def _convolutions() -> Iterator[KernelSpec]:
    for batch, c1, side, n1, window in ((2, 1, 28, 4, 3), (32, 4, 14, 8, 1), (1, 16, 7, 16, 5)):
        x = _tensor(batch, c1, side, side + 1, 16, layout="NC1HWC0")
        y = _tensor(batch, n1, side - window + 1, side, 16, layout="NC1HWC0")
        weight = _tensor(c1 * window * window, n1, 16, 16, layout="FRACTAL_Z")
        yield described_kernel("Conv2D", None, (x, weight), (y,))
        yield described_kernel("Conv2DBackpropInput", None, (weight, y), (x,))
        yield described_kernel(
            "Conv2DBackpropFilter", None, (y, x), (_tensor(*weight.shape, dtype="FLOAT", layout="FRACTAL_Z"),)
        )
        yield described_kernel("Conv2D", TaskType.MIX_AIC, (x, weight), (y,), hf32=True)
    plain = _tensor(4, 3, 32, 33, dtype="FLOAT", layout="NCHW")
    yield described_kernel(
        "Conv2D", None, (plain, _tensor(8, 3, 3, 3, dtype="FLOAT", layout="NCHW")), (_tensor(4, 8, 30, 31),)
    )
    last = _tensor(4, 32, 33, 3, layout="NHWC")
    yield described_kernel("DepthwiseConv2D", None, (last, _tensor(3, 3, 3, 1, layout="HWCN")), (last,))
    deep = _tensor(2, 6, 2, 9, 10, 16, layout="NDC1HWC0")
    yield described_kernel("Conv3D", None, (deep, _tensor(54, 2, 16, 16, layout="FRACTAL_Z_3D")), (deep,))
    yield described_kernel("Conv2D", None, (plain,), (plain,))


def _attentions() -> Iterator[KernelSpec]:
    for batch, heads, queries, keys, width in ((2, 8, 512, 512, 128), (1, 5, 1, 1000, 64), (4, 40, 100, 300, 80)):
        q, k = _tensor(batch, heads, queries, width), _tensor(batch, heads, keys, width)
        statistics = _tensor(batch, heads, queries, 8, dtype="FLOAT")
        for mask in ((), (_tensor(queries, keys, dtype="BOOL"),), (_tensor(2048, 2048, dtype="UINT8"),)):
            yield described_kernel("FlashAttentionScore", TaskType.MIX_AIC, (q, k, k, *mask), (statistics, q))
        yield described_kernel("FlashAttentionScoreGrad", TaskType.MIX_AIC, (q, k, k, q, statistics), (q, k, k))
        wide = _tensor(batch, queries, heads * width)
        yield described_kernel("FlashAttentionScore", None, (wide, _tensor(batch, keys, heads * width)), (wide,))
        yield described_kernel(
            "FlashAttentionScore", None, (_tensor(queries, batch, 384), _tensor(keys, batch, 384)), ()
        )
        packed, lengths = _tensor(queries * batch, heads, width), _tensor(batch, dtype="INT64")
        yield described_kernel("FlashAttentionScore", TaskType.MIX_AIC, (packed, packed, packed, lengths), (packed,))
    cache, table = _tensor(90, 128, 2 * 128), _tensor(3, 17, dtype="INT32")
    yield described_kernel(
        "PagedAttention", TaskType.MIX_AIC, (_tensor(3, 8, 128), cache, cache, table), (_tensor(3, 8, 128),)
    )
    yield described_kernel("FusedInferAttentionScore", None, (_tensor(7, 1024), _tensor(9, 1024)), (_tensor(7, 1024),))
    yield described_kernel("FusedInferAttentionScore", None, (_tensor(7, 1024),), ())


def specs() -> list[KernelSpec]:
    """Return kernels of every family, of every size."""
    chance = random.Random("approved")
    found = [*_free(chance), *_products(chance), *_convolutions(), *_attentions()]
    copies = {"MEMCPY_ASYNC": TaskType.MEMCPY, "Undescribed": TaskType.AI_VECTOR_CORE}
    for name, task in copies.items():
        found.append(described_kernel(name, task, (_tensor(333, 1000),), (_tensor(333, 1000),)))
    return [*found, attrs.evolve(found[0], known=False), attrs.evolve(found[1], mapped=False, inputs=(), outputs=())]


def tensor_texts(tensors: Sequence[TensorDesc]) -> str:
    """Return the types, shapes and formats of tensors."""
    return " ".join(f"{t.dtype}{list(t.shape)}{'' if t.format == 'ND' else t.format}" for t in tensors)


def work_text(spec: KernelSpec) -> str:
    """Return the work of a kernel in one line."""
    numbers = (spec.cube_flops, spec.vector_ops, spec.bytes_read, spec.bytes_written, spec.cube_tiles)
    words = [spec.op_type, spec.task_type.value, *map(str, numbers), "hf32" if spec.hf32 else ""]
    return f"{' '.join(words)}: {tensor_texts(spec.inputs)} -> {tensor_texts(spec.outputs)}"
