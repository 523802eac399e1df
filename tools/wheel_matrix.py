"""
Install the wheel and the source distribution into fresh environments, for each Python that is here and each extra.

    python tools/wheel_matrix.py [--extras core,onnx,dashboard,torch] [--pythons 3.10,3.13]

What is installed is used there. The wheel is built twice, from the checkout and from the source distribution, and both
have to be the same bytes. Prints a row for each; the status is 1 if one fails. Frameworks without a wheel for a Python,
and Pythons of the range that are not on this machine, are told, not failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST, NEWEST = (3, 10), (3, 14)
EXTRAS = ("core", "sdist", "onnx", "dashboard", "cluster", "torch", "tf", "mindspore")
LIMITS: Mapping[str, tuple[int, int]] = {"tf": (3, 11), "mindspore": (3, 11)}
"""The newest Python that a framework has wheels for: tensorflow-cpu 2.15, mindspore 2.7.2."""
USES: Mapping[str, str] = {
    "core": "import drynpu.products, drynpu.simulate",
    "sdist": "import drynpu.products, drynpu.simulate",
    "onnx": "import acl; acl.init(); assert acl.rt.set_device(0) == 0; acl.finalize()",
    "dashboard": "from drynpu_pages.dashboard import serve",
    "cluster": "import distributed, drynpu_cluster",
    "torch": "import torch, torch_npu; assert torch.ones(2, device='npu').sum().item() == 2",
    "tf": "import tensorflow, npu_bridge",
    "mindspore": "import mindspore; mindspore.ops.add(mindspore.Tensor([1.0]), 2)",
}
"""What is run by ``drynpu run`` once an extra is installed."""


def interpreters() -> dict[str, Path]:
    """Return the Pythons that drynpu serves and that run here, by ``3.11``: on the path, or of pyenv."""
    versions = [(3, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    pythons: dict[str, Path] = {}
    for major, minor in versions:
        name = f"python{major}.{minor}"
        candidates = [*sorted(pyenv.glob(f"{major}.{minor}.*/bin/{name}"))]
        on_path = shutil.which(name)
        candidates += [Path(on_path)] if on_path else []
        if sys.version_info[:2] == (major, minor):
            candidates.insert(0, Path(sys.executable))
        for candidate in candidates:
            if subprocess.run([str(candidate), "-c", ""], capture_output=True, check=False).returncode == 0:
                pythons[f"{major}.{minor}"] = candidate
                break
    return pythons


def build(folder: Path) -> tuple[Path, Path]:
    """Build the wheel in two ways and the source distribution, and return both; the wheels have to be equal."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir"]
    # Without a target, build makes the source distribution and the wheel of what it holds.
    subprocess.run([*command, str(folder), str(ROOT)], check=True, capture_output=True)
    again = folder / "again"
    subprocess.run([*command, str(again), "--wheel", str(ROOT)], check=True, capture_output=True)
    (wheel,), (other,), (source,) = folder.glob("*.whl"), again.glob("*.whl"), folder.glob("*.tar.gz")
    if wheel.read_bytes() != other.read_bytes():
        raise SystemExit("the wheels of the checkout and of the source distribution differ")
    print(f"{wheel.name}: {wheel.stat().st_size} bytes, the same from the checkout and from {source.name}", flush=True)
    return wheel, source


def install(python: Path, package: Path, extra: str, folder: Path) -> str:
    """Install and use a package in a new environment; return what went wrong, "" for nothing."""
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    bin_folder = folder / "bin"
    named = str(package) if extra in ("core", "sdist") else f"{package}[{extra}]"
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "DRYNPU", "VIRTUAL"))}
    clean |= {"KINETO_LOG_LEVEL": "99", "TF_CPP_MIN_LOG_LEVEL": "3", "GLOG_v": "3"}
    script = folder / "use.py"
    script.write_text(USES[extra] + "\nprint('used')\n", encoding="utf-8")
    steps: Sequence[Sequence[str]] = (
        ("python", "-m", "pip", "install", "-q", "--disable-pip-version-check", named),
        ("python", "-m", "pip", "check"),
        ("drynpu", "chips", "--json"),
        ("drynpu", "doctor", "--json"),
        ("drynpu", "run", str(script)),
    )
    for program, *arguments in steps:
        done = subprocess.run(
            [str(bin_folder / program), *arguments], cwd=folder, env=clean, capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["nothing was said"]
            return f"{program} {' '.join(arguments[:3])}: {lines[-1]}"
        if arguments[-1] == "--json":
            json.loads(done.stdout)
    return "" if "used" in done.stdout else "the script said nothing"


def main() -> int:
    """Install everywhere, print the table, and return the status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--extras", default=",".join(EXTRAS))
    arguments.add_argument("--pythons", default="")
    chosen = arguments.parse_args()
    pythons = interpreters()
    wanted = [each for each in chosen.pythons.split(",") if each] or list(pythons)
    failed = 0
    print(f"Pythons here: {', '.join(pythons)}", flush=True)
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        if not chosen.pythons and f"3.{minor}" not in pythons:
            print(f"3.{minor:<3} LEFT OUT: no such Python on this machine", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel, source = build(Path(folder))
        for version in wanted:
            for extra in chosen.extras.split(","):
                newest = LIMITS.get(extra)
                if newest is not None and tuple(map(int, version.split("."))) > newest:
                    print(f"{version:5} {extra:10} left out: its framework has no wheel for this Python", flush=True)
                    continue
                begin_s = time.monotonic()
                place = Path(folder) / f"{version}-{extra}"
                package = source if extra == "sdist" else wheel
                wrong = (
                    install(pythons[version], package, extra, place) if version in pythons else "no such Python here"
                )
                shutil.rmtree(place, ignore_errors=True)
                failed += bool(wrong)
                print(f"{version:5} {extra:10} {wrong or 'works'} ({time.monotonic() - begin_s:.0f} s)", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
