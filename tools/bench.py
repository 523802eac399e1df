"""
Run the benchmarks and keep their ratios in one file.

    python tools/bench.py [--only profiler] [--mindspore PYTHON] [-o build/bench.json]

Each script of ``benchmarks/`` runs in a process of its own, one after the other, and prints what it measured. The
file holds every ratio (median, least and greatest of its rounds) with the revision, the date and the machine, because a
ratio still depends on the processor. ``docs/performance.md`` shows them; ``tools/bench_compare.py`` compares two
revisions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from drynpu.host import machine, processors, system

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
NO_SCRIPTS = ("ratios.py", "pages_in_browser.py")
"""What scripts use; by themselves they measure nothing."""
FURTHER = {"bench_profiler.py": (("--with", "stack"), ("--with", "memory"))}
"""Arguments of further runs of a script."""
PACKAGES = ("torch", "tensorflow-cpu", "numpy", "polars")
"""What the times depend on most, beside drynpu."""


def commands(only: str, mindspore: str) -> Iterator[list[str]]:
    """Yield what to run: a script with its Python and arguments; *only* is a part of its name."""
    for path in sorted(BENCHMARKS.glob("*.py")):
        if path.name in NO_SCRIPTS or only not in path.name:
            continue
        python = mindspore if "mindspore" in path.name else sys.executable
        if not Path(python).is_file():
            print(f"LEFT OUT: {path.name}: there is no {python}", flush=True)
            continue
        for arguments in ((), *FURTHER.get(path.name, ())):
            yield [python, str(path), *arguments]


def revision() -> str:
    """Return the commit of the checkout, with ``+`` where files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def circumstances() -> dict[str, Any]:
    """Return what the ratios were measured with."""
    return {
        "revision": revision(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "system": f"{system()} {machine()}",
        "processors": processors(),
        "load": os.getloadavg()[0],
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": dict(installed()),
    }


def installed() -> Iterator[tuple[str, str]]:
    """Yield the packages of the environment that the times depend on, with their versions."""
    for name in PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "not installed"


def main() -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the names of the scripts to run")
    parser.add_argument("--mindspore", default=".venv-mindspore/bin/python", help="the Python that has MindSpore")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "bench.json")
    options = parser.parse_args()
    failed = []
    document = {"measured": circumstances()}
    with tempfile.TemporaryDirectory() as folder:
        ratios = Path(folder) / "ratios"
        ratios.touch()
        for command in commands(options.only, options.mindspore):
            title = " ".join([Path(command[1]).name, *command[2:]])
            print(f"== {title}", flush=True)
            if subprocess.run(command, env={**os.environ, "DRYNPU_BENCH_RATIOS": str(ratios)}, check=False).returncode:
                failed.append(title)
        document["ratios"] = [json.loads(line) for line in ratios.read_text(encoding="utf-8").splitlines()]
    document["failed"] = failed
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1), encoding="utf-8")
    print(f"{len(document['ratios'])} ratios: {options.output}")
    for title in failed:
        print(f"FAILED: {title}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
