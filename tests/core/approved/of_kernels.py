"""What is approved of kernels: work, costs and counters on every generation of chips, and what operators launch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import polars as pl
from describe import describe, scalar

from drynpu.kernels import (
    CoreCounters,
    CostTable,
    KernelCost,
    KernelPlan,
    KernelSpec,
    Measured,
    NodeCall,
    OperatorCall,
    Signature,
    TaskType,
    TensorDesc,
    bind,
    bundled_calibration,
    counter_values,
    described_kernel,
    estimate,
    event_codes,
    fit,
    jitter,
    metric_columns,
    node_signature,
    predicted_us,
)
from drynpu.kernels.ops._binding import _rows
from drynpu.platforms import load_chip

CHIPS = ("Ascend310P3", "Ascend910A", "Ascend910B2", "Ascend910_93", "Ascend950PR")
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


def _tensors(tensors: Sequence[TensorDesc]) -> str:
    return " ".join(f"{t.dtype}{list(t.shape)}{'' if t.format == 'ND' else t.format}" for t in tensors)


def _work(spec: KernelSpec) -> str:
    numbers = (spec.cube_flops, spec.vector_ops, spec.bytes_read, spec.bytes_written, spec.cube_tiles)
    words = [spec.op_type, spec.task_type.value, *map(str, numbers), "hf32" if spec.hf32 else ""]
    return f"{' '.join(words)}: {_tensors(spec.inputs)} -> {_tensors(spec.outputs)}"


def work() -> Iterator[str]:
    """Yield the work that follows from types and tensors."""
    yield from map(_work, specs())


def costs(chip_name: str) -> Iterator[str]:
    """Yield what each kernel costs on a chip, how sure that is, and its noise."""
    chip, kernels = load_chip(chip_name), specs()
    table = CostTable.build(kernels, chip)
    columns = [field.name for field in attrs.fields(KernelCost)]
    frame = pl.DataFrame({name: np.asarray(getattr(table, name)) for name in columns})
    for spec, row in zip(kernels, frame.iter_rows(), strict=True):
        shown = " ".join(f"{name}={scalar(value)}" for name, value in zip(columns, row, strict=True) if value)
        guess = estimate(spec, chip)
        sure = f"{scalar(guess.low_us)} to {scalar(guess.high_us)} {guess.bound} {guess.support} {guess.family}"
        yield f"{spec.op_type} {_tensors(spec.inputs[:1])}: {shown}; {sure}"
    launches = np.arange(len(kernels) * 3) % len(kernels)
    factors = jitter(launches, np.arange(len(launches)), frame["duration_ns"].to_numpy(), 7, kernels)
    yield from describe(factors, "jitter")


def counters(chip_name: str) -> Iterator[str]:
    """Yield the counters of each group on a chip, and the columns that follow from them."""
    chip = load_chip(chip_name)
    kernels = specs()[::4]
    table = CostTable.build(kernels, chip)
    for group in chip.platform.counter_groups:
        values, (cube, vector) = counter_values(table, group), event_codes(group, chip)
        yield from describe(values, f"{group} {cube} {vector}")
        sides = [
            CoreCounters(
                total_cycles=total, pmu=pmu[:, : len(events)], block_num=blocks, mhz=mhz, cores=cores, events=events
            )
            for total, pmu, blocks, mhz, cores, events in (
                (values.aic_total_cycles, values.aic_pmu, table.block_num, chip.aic_mhz, chip.cube_cores, cube),
                (values.aiv_total_cycles, values.aiv_pmu, table.aiv_blocks, chip.aiv_mhz, chip.vector_cores, vector),
            )
        ]
        found = metric_columns(
            group, sides[0], sides[1] if chip.split else None, table.duration_ns / 1000, chip.platform
        )
        yield from describe(pl.DataFrame(found), f"columns of {group}")


def fitted() -> Iterator[str]:
    """Yield the coefficients that invented measurements give: the model's times with a known error for each type."""
    chips = [load_chip(name) for name in ("Ascend910B2", "Ascend910B3")]
    kernels = [spec for spec in specs() if spec.known and spec.op_type in ("Add", "MatMulV2", "SoftmaxV2", "Conv2D")]
    factors = {"Add": 1.4, "MatMulV2": 0.8, "SoftmaxV2": 2.0, "Conv2D": 1.0}
    measured = [
        Measured(spec=spec, chip=chip, source=f"source {number % 2}", duration_us=1.0 + number, weight=1 + number % 3)
        for number, spec in enumerate(kernels)
        for chip in chips
    ]
    usual = bundled_calibration()
    model_us = predicted_us(measured, usual)
    yield from describe(model_us, "predicted_us")
    measured = [
        attrs.evolve(each, duration_us=float(us) * factors[each.spec.op_type] + 0.3)
        for each, us in zip(measured, model_us, strict=True)
    ]
    levels = fit(measured)
    yield from describe(dict(sorted(levels.items())), "fit")
    yield from describe(dict(sorted(fit(measured[::2], start=levels).items())), "fit from there")


# ---------------------------------------------------------------------------------------------- what operators launch

_VALUES: dict[str, tuple[object, ...]] = {
    "stride": ((2, 1), 3, ()),
    "padding": ((1, 0), "SAME", "VALID"),
    "explicit": ((0, 0, 1, 2, 2, 0, 0, 0), None),
    "dilation": ((1, 1), 2, (1, 1)),
    "edge": ((3, 2), 2, (2, 3)),
    "window": ((1, 3, 3, 1), (1, 2, 2, 1), 2),
    "groups": (1, 2, 1),
    "axis": (1, -1, 0),
    "dim": (1, -1, 0),
    "size": ((5, 3), (1, 1), 4),
    "output_padding": ((0, 0), 1, (1, 0)),
    "order": ((1, 0, 2, 3), (1, 0), (0, 2, 1)),
    "equation": ("abcd,abde->abce", "ab,bc->ac", "aij,ajk->aik"),
    **dict.fromkeys(("transposed", "ceil_mode", "turn_b", "causal", "to_float"), (False, True)),
    **dict.fromkeys(("training", "turn_a", "batch_first"), (True, False, None)),
    **dict.fromkeys(("epsilon", "dropout"), (1e-5, 0.1)),
    "dtype": (None,),
    "shape": ((10,), (130,), (20, 48), (3,), (40,)),
    "samples": (6,),
    "channels": (4,),
    "depth": (17, 3),
    "lengths": ((2, 4), None),
}
"""Values of arguments that are no tensors, for one call after the other."""
_SHAPES = (
    ((6, 4, 9, 10), "FLOAT16"),
    ((33, 130), "FLOAT"),
    ((4, 20, 48), "DT_BF16"),
    ((2, 4, 1, 7, 3), "DOUBLE"),
    ((40,), "INT32"),
)
_HIDDEN = 16


def _tensor_of(name: str, x: TensorDesc, gates: int) -> TensorDesc:
    """Return a tensor that stands beside *x* in a call."""
    shape, dtype = x.shape, x.dtype
    if name in ("index", "indices", "labels", "places"):
        return TensorDesc((shape[0], 5), "INT64")
    if name in ("mean", "deviation", "variance", "scale", "offset"):
        return TensorDesc(shape[1:2] or shape, "FLOAT")
    if name in ("b_x", "b_h"):
        return TensorDesc((gates * _HIDDEN,), dtype)
    matrices = {"w_x": (*shape[-1:], gates * _HIDDEN), "w_h": (_HIDDEN, gates * _HIDDEN)}
    states = dict.fromkeys(("h", "c"), (1, *shape[1:2], _HIDDEN))
    others = {
        "weight": (8, *shape[1:2], *(3,) * max(len(shape) - 2, 0)),
        "bias": shape[1:2] or shape,
        "b": (*shape[:-2], shape[-1], 24),
        "rate": (),
        ".": (),
        "mask": (*shape[:-1], *shape[-1:]),
    }
    return TensorDesc((matrices | states | others).get(name, shape), dtype)


def _called(names: Sequence[str], number: int, gates: int) -> tuple[list[TensorDesc | None], list[object]]:
    """Return the tensors and the values of a call, by position."""
    shape, dtype = _SHAPES[number]
    x = TensorDesc(shape, dtype)
    tensors = [None if name in _VALUES else _tensor_of(name, x, gates) for name in names]
    values = [_VALUES[name][number % len(_VALUES[name])] if name in _VALUES else None for name in names]
    return tensors or [x, x], values


def _plan(plan: KernelPlan | None) -> Iterator[str]:
    if plan is None:
        yield "  no plan"
        return
    yield f"  {plan.api} claims={plan.claims} synchronizes={plan.synchronizes} allocates={plan.allocates}"
    yield from (f"    {spec.name} {_work(spec)}" for spec in plan.kernels)


class _Last(NodeCall):
    """A node of a graph with channels last."""

    weight_format = "HWCN"

    @property
    def channels_first(self) -> bool:
        return False


def launched(framework: str) -> Iterator[str]:
    """Yield the kernels of every operator that a framework has, called with tensors of several shapes."""
    kinds: tuple[type[OperatorCall], ...] = (OperatorCall,) if framework == "torch" else (NodeCall, _Last)
    rows = (row for row in _rows() if row.framework == framework)
    for row in sorted(rows, key=lambda row: (row.name, row.spelling)):
        pairs = [pair.partition("=") for pair in row.spelling[row.spelling.index("(") + 1 : -1].split()]
        names, gates = [name.rstrip("!") for name, _, _ in pairs], 3 if "gru" in row.operator.__name__ else 4
        for number in range(len(_SHAPES)):
            tensors, values = _called(names, number, gates)
            if framework == "torch":
                signature = Signature(row.name, tuple(tensors), tuple(values))
            else:
                given = zip(pairs, values, strict=False)
                attributes = {
                    named or name.rstrip("!"): value for (name, _, named), value in given if value is not None
                }
                attributes |= {
                    name: _VALUES[name][number % 3] for name in ("equation",) if row.operator.__name__ == "einsum"
                }
                outputs = [each for each in tensors if each is not None][: 1 + number % 2]
                signature = node_signature(row.name, tensors, outputs, attributes, node=f"net/{row.name}")
            yield f"## {row.name} {number}: {row.operator.__name__}"
            try:
                yield from _plan(bind(row.operator, row.spelling, kinds[number % len(kinds)])(signature))
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                yield f"  {type(error).__name__}: {error}"
