"""``import torch_npu`` in fresh environments: ours where nothing else is, the genuine one wherever it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

pytestmark = pytest.mark.slow

Ours: TypeAlias = Callable[[Any], None]
Make: TypeAlias = Callable[..., Any]

ROOT = Path(__file__).parents[2]
FACADE = ROOT / "adapters" / "torch" / "vendor" / "torch_npu" / "__init__.py"

WHO = "import torch_npu; print(getattr(torch_npu, 'GENUINE', False), torch_npu.__file__)"
WHO_SUBMODULE = "import torch_npu.profiler as p; print(getattr(p, 'GENUINE', False), p.__file__)"
FIND = "from importlib.util import find_spec; print(find_spec('torch_npu').origin)"


def assert_genuine_wins(environment: Any, **variables: str) -> None:
    for code in (WHO, WHO_SUBMODULE):
        won, file = environment.say(code, **variables).split(maxsplit=1)
        assert won == "True", file
        assert "vendor" not in file


def test_the_wheel_serves_torch_npu(make_environment: Make, wheel: Path, dependencies: Path) -> None:
    environment = make_environment()
    environment.link_dependencies(dependencies)
    environment.install(wheel)
    expected = f"{environment.site}/drynpu/_vendor/torch_npu/__init__.py"
    assert environment.say(FIND) == expected
    assert environment.say(WHO) == f"False {expected}"
    assert environment.say("import drynpu_torch; print(drynpu_torch.__file__)").startswith(str(environment.site))


def test_an_editable_install_serves_torch_npu_from_the_checkout(make_environment: Make, dependencies: Path) -> None:
    environment = make_environment()
    environment.link_dependencies(dependencies)
    environment.install(ROOT, editable=True)
    assert environment.say(FIND) == str(FACADE)
    assert environment.say(WHO) == f"False {FACADE}"


def test_an_installed_package_does_not_see_the_facade_but_the_script_does(
    make_environment: Make, install_ours: Ours
) -> None:
    """An installation must change no package; tests/core/test_finder.py has the rules one by one."""
    environment = make_environment()
    install_ours(environment)
    (environment.site / "probing.py").write_text(f"def look():\n    {FIND.replace('.origin', ' is not None')}\n")
    look = "import probing; probing.look()"
    assert environment.say(look) == "False"
    assert environment.say(look, DRYNPU_AUTOLOAD="1") == "True"
    assert environment.say(f"{look}; import npu_device, acl; probing.look()").split() == ["False", "False"]
    assert environment.say(f"{look}; import torch_npu; probing.look()").split() == ["False", "True"]
    script = environment.folder / "script.py"
    script.write_text(look)
    assert environment.run("-m", "drynpu", "run", "--quiet", str(script)).stdout == "True\n"


def test_a_genuine_benchmark_stands_on_the_facade_of_aclruntime(
    make_environment: Make, wheel: Path, dependencies: Path
) -> None:
    environment = make_environment()
    environment.link_dependencies(dependencies)
    environment.install(wheel)
    assert environment.run("-m", "ais_bench", "-h").stdout.startswith("usage: python -m ais_bench")
    genuine = environment.site / "ais_bench"
    genuine.mkdir()
    (genuine / "__init__.py").write_text("import aclruntime\nGENUINE = True\n")
    found, file = environment.say("import ais_bench as a; print(a.GENUINE, a.aclruntime.__file__)").split()
    assert (found, file) == ("True", f"{environment.site}/drynpu_offline_inference/_vendor/aclruntime/__init__.py")
    release = "import ais_bench, importlib.metadata as m; print(m.version('aclruntime'))"
    assert environment.say(release) == "0.0.2", "the genuine package compares it"


def test_what_pip_builds_does_not_see_the_facade(make_environment: Make, install_ours: Ours, tmp_path: Path) -> None:
    """DeepSpeed's setup.py looks for an NPU; pip unpacks it into a temporary folder."""
    environment = make_environment()
    install_ours(environment)
    project = tmp_path / "project"
    project.mkdir()
    release = "'1' if find_spec('torch_npu') is None else '2'"
    setup = f"from importlib.util import find_spec\nfrom setuptools import setup\nsetup(name='p', version={release})\n"
    (project / "setup.py").write_text(setup)
    (project / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools"]\n')
    environment.install(project)
    version = "from importlib.metadata import version; print(version('p'))"
    assert environment.say(version) == "1"
    assert environment.run(str(project / "setup.py"), "-q", "--version").stdout == "2\n"


def test_without_torch_one_line_says_which_extra_to_install(make_environment: Make, wheel: Path) -> None:
    environment = make_environment()
    environment.install(wheel)
    done = environment.run("-c", "import torch_npu", check=False)
    assert done.returncode == 1
    message = "torch is not installed; install it with: pip install 'drynpu[torch]'"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
    caught = "try:\n    import torch_npu\nexcept ImportError as error:\n    print(error)"
    assert environment.say(caught) == message


def test_plain_torch_stays_plain_and_pays_next_to_nothing(
    make_environment: Make, wheel: Path, dependencies: Path
) -> None:
    """PyTorch runs our entry point at every import; unless asked to, it imports nothing of the core."""
    environment = make_environment()
    environment.link_dependencies(dependencies)
    environment.install(wheel)
    code = """
import sys, time
import torch
print(sorted(name for name in sys.modules if name.startswith("drynpu")), hasattr(torch, "npu"))
for name in [name for name in sys.modules if name.startswith("drynpu")]:
    del sys.modules[name]
started = time.perf_counter()
import drynpu_torch.autoload
drynpu_torch.autoload.load()
print(time.perf_counter() - started)
"""
    modules, seconds = environment.say(code).splitlines()
    assert modules == "['drynpu_torch', 'drynpu_torch.autoload'] False"
    assert float(seconds) < 0.02, "1 ms on an idle machine"


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_genuine_package_in_the_same_site_packages_wins(
    make_environment: Make, make_genuine: Make, install_ours: Ours, ours_first: bool
) -> None:
    environment = make_environment()
    genuine = make_genuine("wheel")
    if not ours_first:
        environment.install(genuine)
    install_ours(environment)
    if ours_first:
        environment.install(genuine)
    assert_genuine_wins(environment)


@pytest.mark.parametrize("layout", ["flat", "src"])
def test_a_genuine_editable_install_wins(
    make_environment: Make, make_genuine: Make, install_ours: Ours, layout: str
) -> None:
    """Setuptools makes a meta path finder for the flat layout and a path line for the src layout."""
    environment = make_environment()
    install_ours(environment)
    environment.install(make_genuine(layout), editable=True)
    finders = environment.say(
        "import sys; print([finder.__name__ for finder in sys.meta_path if isinstance(finder, type)])"
    )
    assert ("_EditableFinder" in finders) == (layout == "flat")
    assert_genuine_wins(environment)


def test_a_genuine_package_behind_an_earlier_finder_wins(
    make_environment: Make, make_genuine: Make, install_ours: Ours
) -> None:
    """The finder of an editable install may also stand before the path finder."""
    environment = make_environment()
    install_ours(environment)
    environment.install(make_genuine("flat"), editable=True)
    first = "import sys; sys.meta_path.sort(key=lambda finder: '_EditableFinder' not in str(finder)); "
    assert environment.say(first + WHO).startswith("True ")


def test_a_genuine_package_in_the_user_site_wins(
    make_environment: Make, make_genuine: Make, install_ours: Ours, tmp_path: Path
) -> None:
    environment = make_environment("env", "--system-site-packages")
    install_ours(environment)
    base = {"PYTHONUSERBASE": str(tmp_path / "user")}
    user_site = Path(environment.say("import site; print(site.getusersitepackages())", **base))
    unpack(make_genuine("wheel"), user_site)
    assert_genuine_wins(environment, **base)


def test_a_genuine_package_in_the_base_site_packages_wins(
    make_environment: Make, make_genuine: Make, install_ours: Ours, tmp_path: Path
) -> None:
    environment = make_environment("env", "--system-site-packages")
    install_ours(environment)
    base_site = give_a_base_of_its_own(environment, tmp_path / "base")
    unpack(make_genuine("wheel"), base_site)
    assert_genuine_wins(environment)


def test_ours_serves_again_once_the_genuine_package_is_gone(
    make_environment: Make, make_genuine: Make, install_ours: Ours
) -> None:
    environment = make_environment()
    install_ours(environment)
    environment.install(make_genuine("wheel"))
    environment.pip("uninstall", "-y", "torch-npu")
    assert environment.say(FIND).endswith("/torch_npu/__init__.py")
    assert environment.say("from drynpu import find_genuine; print(find_genuine('torch_npu'))") == "None"


def test_where_no_pth_is_read_only_drynpu_run_serves(
    make_environment: Make, wheel: Path, dependencies: Path, tmp_path: Path
) -> None:
    """The limitation that docs/facades.md states: ``pip install --target`` and ``python -S``."""
    environment = make_environment()
    target = tmp_path / "target"
    environment.pip("install", "--no-deps", "--no-index", "--target", str(target), str(wheel))
    path = {"PYTHONPATH": f"{target}:{dependencies}"}
    assert environment.say("from importlib.util import find_spec; print(find_spec('torch_npu'))", **path) == "None"
    script = environment.folder / "script.py"
    script.write_text("from importlib.util import find_spec\nprint(find_spec('torch_npu').origin)\n")
    done = environment.run("-m", "drynpu", "run", str(script), **path)
    assert f"{target}/drynpu/_vendor/torch_npu/__init__.py" in done.stdout


def unpack(wheel: Path, folder: Path) -> None:
    import zipfile

    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)


def give_a_base_of_its_own(environment: Any, base: Path) -> Path:
    """
    Let the environment inherit from a base installation that belongs to the test; return its site-packages.

    The base is links to the real one, file by file, so that only its site-packages differ.
    """
    real = Path(environment.say("import os; print(os.path.dirname(os.__file__))"))
    library = base / "lib" / real.name
    library.mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name not in {"site-packages", "dist-packages"}:
            (library / entry.name).symlink_to(entry)
    (base / "bin").mkdir()
    (base / "bin" / "python3").symlink_to(environment.python.resolve())
    configuration = environment.folder / "pyvenv.cfg"
    lines = [line for line in configuration.read_text().splitlines() if not line.startswith(("home", "executable"))]
    configuration.write_text("\n".join([f"home = {base / 'bin'}", *lines]) + "\n")
    folders = "import site, sys; print(sys.base_prefix); print(*site.getsitepackages([sys.base_prefix]), sep='\\n')"
    prefix, *candidates = environment.say(folders).splitlines()
    assert prefix == str(base)
    site = Path(candidates[-1])
    site.mkdir(parents=True)
    return site
