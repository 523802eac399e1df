"""
Fresh environments to install into.

They are made without pip (the main environment's pip installs into them) and without the network. Where a test needs
the dependencies, a folder of links to the main environment's packages is put on the path, drynpu itself left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from attrs import field, frozen

ROOT = Path(__file__).parents[2]
MAIN_SITE = Path(sysconfig.get_path("purelib"))
PYTHON_FOLDER = f"python{sys.version_info.major}.{sys.version_info.minor}"

MARK = "GENUINE = True\n"


@frozen
class Environment:
    """A virtual environment of its own."""

    folder: Path
    variables: dict[str, str] = field(factory=dict)

    @classmethod
    def make(cls, folder: Path, *options: str) -> Environment:
        """Make an empty one (about 0.1 s)."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, str(folder)], check=True)
        return cls(folder)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        return self.folder / "lib" / PYTHON_FOLDER / "site-packages"

    def run(self, *arguments: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's interpreter away from the checkout, with none of our variables set."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DRYNPU"))}
        quiet = {"KINETO_LOG_LEVEL": "99", "TF_ENABLE_ONEDNN_OPTS": "0"}
        done = subprocess.run(
            [str(self.python), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**clean, **quiet, **self.variables, **variables},
        )
        assert not check or done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done

    def say(self, code: str, **variables: str) -> str:
        """Run code and return what it printed."""
        return self.run("-c", code, **variables).stdout.strip()

    def pip(self, *arguments: str) -> None:
        """Run the main environment's pip on this one."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "-q"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, cwd=self.folder)
        assert done.returncode == 0, f"pip {arguments}\n{done.stdout}\n{done.stderr}"

    def install(self, what: Path, *, editable: bool = False) -> None:
        """
        Install a wheel or a project, nothing else, from nowhere else.

        What is imported is compiled then; pip would compile everything, which is most of its time.
        """
        options = ["--no-deps", "--no-index", "--no-build-isolation", "--no-compile"]
        self.pip("install", *options, *(["-e"] if editable else []), str(what))

    def link_dependencies(self, links: Path) -> None:
        """Make the main environment's packages importable, after site-packages."""
        (self.site / "aaa_dependencies.pth").write_text(f"{links}\n")

    def files(self) -> set[str]:
        """Everything in it, but for compiled modules of packages that were there before."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}


MakeEnvironment: TypeAlias = Callable[..., Environment]
MakeGenuine: TypeAlias = Callable[..., Path]


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to everything in the main environment except drynpu."""
    folder = tmp_path_factory.mktemp("dependencies")
    for entry in MAIN_SITE.iterdir():
        if "drynpu" not in entry.name and entry.suffix != ".pth" and entry.name != "__pycache__":
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, built from the checkout."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture
def make_environment(tmp_path: Path) -> MakeEnvironment:
    """Make an empty environment."""

    def make(name: str = "env", *options: str) -> Environment:
        return Environment.make(tmp_path / name, *options)

    return make


@pytest.fixture(scope="module")
def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An empty environment for all tests of a module."""
    return Environment.make(tmp_path_factory.mktemp("shared") / "env")


@pytest.fixture(params=["wheel", "editable"])
def install_ours(request: pytest.FixtureRequest, wheel: Path, dependencies: Path) -> Callable[[Environment], None]:
    """Install drynpu into an environment, once from the wheel and once as an editable install."""

    def install(environment: Environment) -> None:
        environment.link_dependencies(dependencies)
        if request.param == "wheel":
            environment.install(wheel)
        else:
            environment.install(ROOT, editable=True)

    return install


@pytest.fixture
def make_genuine(tmp_path: Path) -> MakeGenuine:
    """Write a project that stands for the genuine torch_npu: ``flat`` or ``src`` layout, or as a ``wheel``."""

    def make(layout: str) -> Path:
        project = tmp_path / f"genuine_{layout}"
        package = (project / "src" if layout == "src" else project) / "torch_npu"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(MARK)
        (package / "profiler.py").write_text(MARK)
        if layout == "wheel":
            return _zip_wheel(project)
        (project / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
            '[project]\nname = "torch-npu"\nversion = "9.9"\n'
        )
        return project

    return make


def _zip_wheel(project: Path) -> Path:
    information = project / "torch_npu-9.9.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 9.9\n")
    (information / "WHEEL").write_text(
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    names = [str(path.relative_to(project)) for path in sorted(project.rglob("*")) if path.is_file()]
    record = information / "RECORD"
    record.write_text("".join(f"{name},,\n" for name in [*names, f"{information.name}/RECORD"]))
    made = project / "torch_npu-9.9-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name in [*names, f"{information.name}/RECORD"]:
            archive.write(project / name, name)
    shutil.rmtree(project / "torch_npu")
    return made
