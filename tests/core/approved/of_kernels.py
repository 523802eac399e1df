"""What is approved of kernels: work, costs and counters on every generation of chips, and fitted coefficients."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
import polars as pl
from cost_columns import cost_columns
from describe import describe, scalar
from kernel_specs import specs, tensor_texts, work_text

from drynpu import DrynpuError
from drynpu.kernels import (
    CoreCounters,
    CostTable,
    bundled_calibration,
    counter_values,
    estimate,
    event_codes,
    jitter,
    metric_columns,
)
from drynpu.platforms import load_chip
from drynpu_calibration import Kernels, Measured, fit, predict_kernels, predict_transfers, predicted_us, recalibrate

CHIPS = ("Ascend310P3", "Ascend910A", "Ascend910B2", "Ascend910_93", "Ascend950PR")


def work() -> Iterator[str]:
    """Yield the work that follows from types and tensors."""
    yield from map(work_text, specs())


def costs(chip_name: str) -> Iterator[str]:
    """Yield what each kernel costs on a chip, how sure that is, and its noise."""
    chip, kernels = load_chip(chip_name), specs()
    table = CostTable.build(kernels, chip)
    columns = cost_columns(table)
    frame = pl.DataFrame(columns)
    for spec, row in zip(kernels, frame.iter_rows(), strict=True):
        shown = " ".join(f"{name}={scalar(value)}" for name, value in zip(columns, row, strict=True) if value)
        guess = estimate(spec, chip)
        sure = f"{scalar(guess.low_us)} to {scalar(guess.high_us)} {guess.bound} {guess.support} {guess.family}"
        yield f"{spec.op_type} {tensor_texts(spec.inputs[:1])}: {shown}; {sure}"
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


def _listed(folder: Path) -> Path:
    """Write kernels as a table of a user's, of chips as users write them."""
    names = ("Ascend910B2", "910B3", "Ascend310P1", "ascend910_9391", "910", "Ascend950DT")
    columns = "id,chip,op_type,task_type,input_shapes,input_dtypes,input_formats"
    lines = [f"{columns},output_shapes,output_dtypes,output_formats,hf32"]
    for number, spec in enumerate(specs()[::3]):
        cells = [
            f"k{number}",
            names[number % len(names)],
            spec.op_type,
            "" if number % 5 == 4 else spec.task_type.value,
        ]
        for tensors in (spec.inputs, spec.outputs):
            cells.append('"' + ";".join(",".join(map(str, t.shape)) for t in tensors) + '"')
            cells += [";".join(t.dtype for t in tensors), ";".join(t.format for t in tensors)]
        lines.append(",".join([*cells, ("NO", "YES", "")[number % 3]]))
    path = folder / "kernels.csv"
    path.write_text("\n".join([*lines, *lines[3:5]]) + "\n")
    return path


def _transfers(folder: Path) -> Path:
    """Write transfers as a table of a user's."""
    lines = ["level,op,group_size,dtype,bytes,transport,transit_bytes,packets"]
    transports = ("HCCS", "RDMA", "PCIE", "SDMA:local", "SIO", "LOCAL", "HCCS_SW")
    kinds = (
        "hcom_allReduce_",
        "Receive",
        "Memcpy",
        "Reduce_Inline",
        "hcom_send_",
        "allGather",
        "alltoallv",
        "reduceScatter",
    )
    for number, (transport, kind) in enumerate((a, b) for a in transports for b in kinds):
        size = 1000 << (number % 17)
        packets = f"{size / 1e6}MBx3:10.5us;1.5KBx{number % 5 + 1}" if number % 3 else ""
        level = "op" if number % 4 == 1 else "task"
        lines.append(
            f"{level},{kind},{(2, 8, 16, '')[number % 4]},FLOAT,{size},{transport},{size // 2 or ''},{packets}"
        )
    path = folder / "transfers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def asked() -> Iterator[str]:
    """Yield what the model says of tables of kernels and of transfers, of the chips named there and of one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for chip in ("", "Ascend910A"):
            yield from describe(predict_kernels(_listed(folder), chip=chip), f"kernels {chip}")
        for chip in ("Ascend910A", "Ascend910B2", "Ascend310P3", "Ascend950PR"):
            yield from describe(predict_transfers(_transfers(folder), chip=chip), f"transfers {chip}")
        malformed = folder / "malformed.csv"
        malformed.write_text('chip,op_type,input_shapes\nAscend910B2,Add,"4,x"\nnone,Add,"4"\n')
        for chip in ("", "Ascend910B2"):
            try:
                yield from describe(predict_kernels(malformed, chip=chip), "malformed")
            except DrynpuError as error:
                yield str(error)


def recalibrated() -> Iterator[str]:
    """Yield the calibration file that invented measurements give, and its errors."""
    chip = load_chip("Ascend910B4")
    kernels = [spec for spec in specs() if spec.known and spec.task_type.value.startswith("AI_") and spec.inputs][::5]
    measured = [Measured(spec=spec, chip=chip, source="invented", duration_us=1.0) for spec in kernels]
    us = predicted_us(measured, bundled_calibration()) * (1 + 0.1 * (np.arange(len(kernels)) % 7))
    found = [
        (attrs.evolve(each, duration_us=float(time)), 1 + number % 4)
        for number, (each, time) in enumerate(zip(measured, us, strict=True))
    ]
    result = recalibrate(Kernels(kernels=tuple(found), left_out={"odd": 2}), bundled_calibration())
    yield from result.text.splitlines()
    yield from describe(attrs.evolve(result, text=""), "recalibration")
