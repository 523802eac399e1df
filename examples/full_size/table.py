"""
Say how long a step of each named configuration takes at full size, on one rank of its job, without computing it:

    python examples/full_size/table.py --chips 910B1,910B2,910B3

``--published FILE`` (JSON, ``{"llama2-7b": 1234.5}``: tokens or images a second and chip) adds the ratio of modelled to
published. Further arguments are names of configurations; by default all run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import polars as pl

from drynpu.kernels import bundled_calibration
from drynpu.platforms import Chip, load_chip

HERE = Path(__file__).parent
COMMUNICATION = "COMMUNICATION"


def run(name, world, chip, configurations, folder):
    """Run rank 0 of a configuration; return the summary of its step, what it computes, and its kernels."""
    command = [sys.executable, "-m", "drynpu", "run", "--json", "--chip", chip.name, "--no-compute"]
    command += ["--world", str(world), "--ranks", "0", str(HERE / "train.py"), name]
    command += ["--configurations", str(configurations), "--output", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} on {chip.name} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    (result,) = json.loads(done.stdout)["results"]
    (table,) = folder.rglob("kernel_details.csv")
    kernels = pl.read_csv(table, infer_schema_length=0)
    return result, json.loads((folder / "step.json").read_text()), kernels


def peak_flops(chip: Chip):
    """Return the operations of 16-bit products that a chip could do in a second."""
    return chip.cube_cores * chip.cube_flop_per_cycle * chip.aic_mhz * 1e6


def unmeasured(kernels, chip: Chip, computing_us):
    """Return the share of the kernels' time whose types no measurement covers, and the largest of these types."""
    calibration, times = bundled_calibration(), Counter()
    for kind, core, duration in kernels.select("Type", "Accelerator Core", "Duration(us)").iter_rows():
        if core != COMMUNICATION and calibration.support(kind, chip.generation) != "seen":
            times[kind] += float(duration)
    largest = [
        f"{kind} {spent / computing_us:.0%}" for kind, spent in times.most_common(4) if spent > computing_us / 100
    ]
    return sum(times.values()) / computing_us, ", ".join(largest)


def row(name, chip, result, document, kernels, world, published):
    """Return the cells of a configuration on a chip."""
    (step,) = result["steps"]
    us = step["stage_us"]
    low, high = (result["step_intervals_us"] or [[us, us]])[0]
    rate = document["count"] / world / us * 1e6
    share, types = unmeasured(kernels, chip, step["computing_us"])
    return {
        "name": name,
        "chip": chip.name.removeprefix("Ascend"),
        "step ms": f"{us / 1000:.1f}",
        "80 %": f"{low / 1000:.0f} to {high / 1000:.0f}",
        "a second and chip": f"{rate:.0f} {document['unit']}",
        "MFU": f"{document['flops'] / us / peak_flops(chip) * 1e6:.0%}",
        "communication": f"{step['communication_not_overlapped_us'] / us:.0%}",
        "free": f"{step['free_us'] / us:.0%}",
        "GiB": f"{document['peak_gib']}",
        "of published": f"{rate / published[name]:.2f}" if name in published else "",
        "kernels unmeasured": f"{share:.0%}" + (f" ({types})" if types else ""),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--chips", default="910B2")
    parser.add_argument("--configurations", type=Path, default=HERE / "configurations.json")
    parser.add_argument("--published", type=Path)
    options = parser.parse_args()
    configurations = json.loads(options.configurations.read_text())
    published = json.loads(options.published.read_text()) if options.published else {}
    for name in [*options.names, *published]:
        if name not in configurations:
            parser.error(f"no configuration {name!r}; there are {', '.join(configurations)}")
    header = False
    for name in options.names or configurations:
        for chip in map(load_chip, options.chips.split(",")):
            world = configurations[name]["world"]
            with tempfile.TemporaryDirectory() as folder:
                cells = row(name, chip, *run(name, world, chip, options.configurations, Path(folder)), world, published)
            if not published:
                del cells["of published"]
            if not header:
                print("| " + " | ".join(cells) + " |\n" + "|" + " --- |" * len(cells))
                header = True
            print("| " + " | ".join(cells.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
