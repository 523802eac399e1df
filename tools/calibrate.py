"""
Fit the coefficients of the cost model to measured kernels, and say how well they predict what they were not fitted to.

``python tools/calibrate.py DATA [--write] [--generation split]``: DATA is a folder with the tables :data:`FILES`.
Prints errors by source left out (the ones that count), by operator type left out and by shape, against the plain
roofline. With ``--write`` the coefficients go to ``core/drynpu/platforms/calibration``.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from drynpu.arrays import F64
from drynpu.kernels import Calibration, family_of, width_by_duration
from drynpu.kernels._pipes import mac_rate
from drynpu.platforms import load_chip
from drynpu_calibration import (
    Measured,
    calibration_document,
    calibration_of,
    described_kernel,
    fit,
    predicted_us,
    task_type_of,
    tensors_of,
)

FILES = ("kernels/train.csv", "kernels_2026/kernels_910b2_inference.csv")
FOLDS = 5
MOST_ROWS = {"mini": 60}
"""Rows of an operator type that are fitted: the sweeps of the 310 have hundreds of each."""
SUSPICIOUS = {"hpm_bert_256_32": 0.3}
"""Weight of sources whose figures contradict their neighbours (README of the data, caution 3)."""
NETWORKS = frozenset({"hpm", "paddle", "colqwen3", "mineru"})
"""Beginnings of sources whose second word names the network, behind which its variants follow."""
OUTSIDE = 0.07
"""
Share of the kernels beyond each end of an interval of 80 %: with 10 %, less of a network that was left out lies inside
than of the networks that the interval is made of. Chosen anew without each network of 910B it would be 8 or 9 %, and
76 % of the kernels would lie inside (71 to 86 by network). With 7 it is 80 %: the next network differs more than these.
"""
FEW_ROWS = 20
"""Networks count alike in an interval from so many kernels on: their number says nothing about the next network."""
FAMILY_ROWS = 30
"""Kernels of a family that say as much about its interval as all others together."""
PRIORS = {"mini": {"generation": (0.3, 0.3), "chip": (0.08, 0.08), "family": (0.25, 0.4), "type": (0.25, 0.4)}}
"""Wider beliefs for the 310, whose physics is 62 % off: its measured times lack the launch."""
WIDEST = {"seen": 1.09, "family": 1.78}
"""Logarithm of high / low that an interval may have: factors 3 and 6."""
CALIBRATION = Path(__file__).parents[1] / "core" / "drynpu" / "platforms" / "calibration"


def load(data: Path) -> list[Measured]:
    """Return the measured kernels of a data folder."""
    tables = [pl.read_csv(path, infer_schema_length=0).fill_null("") for path in (data / name for name in FILES)]
    table = pl.concat(tables)
    chips = {name: load_chip(name) for name in table["chip"].unique()}
    return [
        Measured(
            spec=described_kernel(
                row["op_type"],
                task_type_of(row["task_type"]),
                tensors_of(row["input_shapes"], row["input_dtypes"], row["input_formats"]),
                tensors_of(row["output_shapes"], row["output_dtypes"], row["output_formats"]),
                hf32=row["hf32"] == "YES",
                static=row["op_state"] == "static",
            ),
            chip=chips[row["chip"]],
            source=row["source"],
            duration_us=float(row["duration_us"]),
            weight=SUSPICIOUS.get(row["source"], 1.0),
        )
        for row in table.iter_rows(named=True)
    ]


def thinned(kernels: Sequence[Measured], most: int) -> list[Measured]:
    """Return at most *most* kernels of every type, chosen by a hash of their shapes."""
    order = sorted(kernels, key=lambda k: (k.spec.op_type, zlib.crc32(repr(k.spec.inputs).encode())))
    seen: dict[str, int] = {}
    kept = []
    for kernel in order:
        seen[kernel.spec.op_type] = seen.get(kernel.spec.op_type, 0) + 1
        if seen[kernel.spec.op_type] <= most:
            kept.append(kernel)
    return kept


def network(source: str) -> str:
    """Return the network that a source ran: its batch sizes are not independent of each other."""
    parts = source.split("_")
    return "_".join(parts[:2]).rstrip("0123456789") if parts[0] in NETWORKS else source


def left_out(kernels: Sequence[Measured], group: Callable[[Measured], object]) -> tuple[F64, list[str]]:
    """Return predictions in which no kernel was fitted with its own *group*, and their support."""
    groups, generation = [group(k) for k in kernels], kernels[0].chip.generation
    prior = PRIORS.get(generation)
    predictions, support = np.zeros(len(kernels)), [""] * len(kernels)
    for one in sorted(set(groups), key=str):
        fitted = calibration_of(
            {generation: fit([k for k, g in zip(kernels, groups, strict=True) if g != one], prior=prior)}
        )
        inside = [i for i, g in enumerate(groups) if g == one]
        predictions[inside] = predicted_us([kernels[i] for i in inside], fitted)
        for i in inside:
            support[i] = fitted.support(kernels[i].spec.op_type, kernels[i].chip.generation)
    return predictions, support


def roofline_us(kernel: Measured) -> float:
    """Return the plain roofline of device_and_cost_model.md 2: efficiencies 0.7 and 0.6, 5 or 2 us of fixed cost."""
    spec, chip = kernel.spec, kernel.chip
    lanes = chip.vector_cores * chip.vector_lanes_16bit * chip.aiv_mhz / 1000
    compute = spec.cube_flops / (mac_rate(spec, chip) * chip.cube_cores * 0.7) + spec.vector_ops / (lanes * 0.7)
    memory = (spec.bytes_read + spec.bytes_written) / (chip.memory_gbs * 0.6)
    return max(compute, memory) / 1000 + (5 if spec.cube_flops else 2)


def errors(measured: F64, predicted: F64) -> dict[str, float]:
    """Return the error figures of a group of kernels."""
    ratio = predicted / measured
    return {
        "median": float(np.median(abs(ratio - 1))),
        "within 25 %": float(np.mean(abs(ratio - 1) <= 0.25)),
        "factor 2": float(np.mean((ratio <= 2) & (ratio >= 0.5))),
        "total": float(predicted.sum() / measured.sum() - 1),
    }


def show(title: str, labels: Sequence[str], measured: F64, ways: dict[str, F64], inside: F64 | None = None) -> None:
    """Print a table of errors, a row per label and way of predicting."""
    print(f"\n{title}")
    names = np.array(labels)
    for label in [*sorted(set(labels)), "all"]:
        rows = np.flatnonzero(names == label) if label != "all" else np.arange(len(names))
        for way, predicted in ways.items():
            figures = errors(measured[rows], predicted[rows])
            held = f"  80 % holds {inside[rows].mean():.2f}" if inside is not None and way == "model" else ""
            text = "  ".join(
                f"{name} {value:+.2f}" if name == "total" else f"{name} {value:.3f}" for name, value in figures.items()
            )
            print(f"  {label:30s} {len(rows):5d}  {way:8s} {text}{held}")


def intervals(
    measured: F64, by_source: F64, by_type: F64, families: Sequence[str], networks: Sequence[str]
) -> dict[str, list[float]]:
    """
    Return the logarithms that hold 80 % of the kernels of a network that was left out, by family.

    Short kernels err more, and count by what is beyond that (:func:`width_by_duration`). Kernels of other families
    count as much as :data:`FAMILY_ROWS` of the family together: few kernels say little about their spread. Families
    without kernels take what other operator types show that were left out.
    """
    rows = Counter(networks)
    counts = np.array([1 / max(rows[each], FEW_ROWS) for each in networks])
    counts *= len(counts) / counts.sum()
    seen = np.log(measured / by_source) / width_by_duration(by_source)
    unseen = np.log(measured / by_type) / width_by_duration(by_type)
    names = np.array(families)
    bounds = {
        "seen": _ends(seen, counts, WIDEST["seen"]),
        "family": _ends(unseen, counts, WIDEST["family"]),
    }
    low, high = bounds["family"]
    bounds["physics"] = [round(min(low * 1.2, -0.4), 3), round(max(high * 1.2, 0.4), 3)]
    for family in sorted(set(families)):
        weight = counts * (FAMILY_ROWS / len(names) + (names == family))
        bounds[family] = _ends(seen, weight, WIDEST["family"])
    return bounds


def _ends(errors: F64, weight: F64, widest: float) -> list[float]:
    """Return the ends of what holds 80 % of weighted logarithms, drawn together where they lie too far apart."""
    order = np.argsort(errors)
    share = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    low, high = np.interp((OUTSIDE, 1 - OUTSIDE), share, errors[order])
    excess = max((high - low) / widest, 1.0)
    return [round(float(low / excess), 3), round(float(high / excess), 3)]


def inside_of(measured: F64, predicted: F64, families: Sequence[str], networks: Sequence[str], by_type: F64) -> F64:
    """Return 1 where a kernel lies in the interval that the kernels of all other networks give, else 0."""
    inside, names = np.zeros(len(measured)), np.array(networks)
    errors = np.log(measured / predicted) / width_by_duration(predicted)
    for one in sorted(set(networks)):
        rest, rows = names != one, np.flatnonzero(names == one)
        rest = rest if rest.any() else ~rest
        kept = [family for family, other in zip(families, rest, strict=True) if other]
        bounds = intervals(measured[rest], predicted[rest], by_type[rest], kept, names[rest].tolist())
        for row in rows:
            low, high = bounds.get(families[row], bounds["physics"])
            inside[row] = low <= errors[row] <= high
    return inside


def judge(generation: str, kernels: list[Measured], *, write: bool) -> None:
    """Print the cross-validation of a generation, and write its coefficients."""
    measured = np.array([k.duration_us for k in kernels])
    sources = [k.source for k in kernels]
    plain = {
        "roofline": np.array([roofline_us(k) for k in kernels]),
        "physics": predicted_us(kernels, Calibration(name="physics", digest="")),
    }
    by_source, _ = left_out(kernels, lambda k: network(k.source))
    by_type, _ = left_out(kernels, lambda k: zlib.crc32(k.spec.op_type.encode()) % 10)
    by_shape, _ = left_out(kernels, lambda k: zlib.crc32(repr((k.spec.inputs, k.spec.outputs)).encode()) % FOLDS)
    families = [family_of(k.spec.op_type).name for k in kernels]
    networks = [network(source) for source in sources]
    # A single source shows nothing but how its shapes predict each other.
    apart = by_source if len(set(networks)) > 1 else by_shape
    spread = intervals(measured, apart, by_type, families, networks)
    inside = inside_of(measured, apart, families, networks, by_type)
    show(f"{generation}: source left out", sources, measured, {**plain, "model": by_source}, inside)
    show(f"{generation}: shapes left out", [k.chip.name for k in kernels], measured, {"model": by_shape})
    show(f"{generation}: operator types left out", [k.chip.name for k in kernels], measured, {"model": by_type})
    show(f"{generation}: source left out, by family", families, measured, {"model": by_source}, inside)
    if write:
        CALIBRATION.mkdir(exist_ok=True)
        text = calibration_document(
            generation,
            fit(kernels, prior=PRIORS.get(generation)),
            spread,
            sorted(set(sources)),
            made_by="tools/calibrate.py",
        )
        (CALIBRATION / f"{generation}.yaml").write_text(text, encoding="utf-8")
        print(f"\nwrote {generation}.yaml, {len(text)} bytes")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--generation")
    chosen = parser.parse_args()
    kernels = load(chosen.data)
    for generation in sorted({k.chip.generation for k in kernels}):
        if chosen.generation in (None, generation):
            own = [k for k in kernels if k.chip.generation == generation]
            judge(generation, thinned(own, MOST_ROWS.get(generation, len(own))), write=chosen.write)


if __name__ == "__main__":
    main()
