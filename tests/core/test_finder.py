"""Who sees the facades: the user's code and whoever runs with an NPU, but no package that merely looks for one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from drynpu import facade_version, needs_plugin
from drynpu.plugins import PLUGINS_VARIABLE, FacadePart, build_manager

PLUGINS = Path(__file__).parents[2] / "plugins"
Look: TypeAlias = Callable[..., list[str]]

PROBES = """
import importlib.util
from importlib import metadata

def module(name="torch_npu"):
    return importlib.util.find_spec(name) is not None

def imported(name="npu_device"):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True

def release():
    try:
        return metadata.version("torch_npu")
    except metadata.PackageNotFoundError:
        return None
"""
START = "import sys, _drynpu_finder; _drynpu_finder.install(); "


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Run code beside an installed package of probes; without ``.pth`` files, so only what START installs serves."""
    site = tmp_path / "env" / "site-packages"
    (site / "probing").mkdir(parents=True)
    (site / "probing" / "__init__.py").write_text(PROBES)
    kept = [entry for entry in sys.path if entry and not entry.endswith("vendor")]

    def run(*arguments: str, path: tuple[Path, ...] = (), **variables: str) -> list[str]:
        folders = os.pathsep.join([*map(str, path), str(site), *kept])
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DRYNPU"))}
        done = subprocess.run(
            [sys.executable, "-S", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": folders, "KINETO_LOG_LEVEL": "99", "TF_ENABLE_ONEDNN_OPTS": "0", **variables},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def script(tmp_path: Path, code: str, name: str = "script.py") -> str:
    (tmp_path / name).write_text(code)
    return name


SHOW = "import importlib.util, probing; print(probing.module(), importlib.util.find_spec('torch_npu') is not None)"


def test_the_users_code_sees_what_a_package_does_not(look: Look, tmp_path: Path) -> None:
    assert look("-c", START + SHOW) == ["False", "True"]
    assert look(script(tmp_path, START + SHOW)) == ["False", "True"]


@pytest.mark.slow
def test_a_module_beside_the_script_is_the_users_and_so_is_a_library_call(look: Look, tmp_path: Path) -> None:
    script(tmp_path, PROBES, "mine.py")
    code = START + "import pkgutil, mine; print(mine.module(), pkgutil.resolve_name('npu_device') is not None)"
    assert look(script(tmp_path, code)) == ["True", "True"]


def test_code_without_a_file_is_a_consoles_unless_its_module_is_a_packages(look: Look, tmp_path: Path) -> None:
    code = (
        START
        + "import probing; source = 'found = importlib.util.find_spec(\"torch_npu\") is not None'\n"
        + "cell = {'__name__': '__main__'}; exec('import importlib.util\\n' + source, cell); print(cell['found'])\n"
        + "exec(source, vars(probing)); print(probing.found)\n"
    )
    assert look(script(tmp_path, code)) == ["True", "False"]


def test_the_interpreter_itself_may_start_a_facade(look: Look) -> None:
    """``python -m torch_npu``, or here a thread: nothing but the standard library is on the stack."""
    code = START + "import importlib.util; from concurrent.futures import ThreadPoolExecutor as Pool\n"
    code += "print(Pool().submit(importlib.util.find_spec, 'torch_npu').result() is not None)"
    assert look("-c", code) == ["True"]


@pytest.mark.slow
@pytest.mark.parametrize(("value", "seen"), [("1", "True"), ("0", "False"), ("", "False")])
def test_everybody_sees_the_facades_where_the_variable_says_so(look: Look, value: str, seen: str) -> None:
    code = START + "import probing; print(probing.module(), probing.imported())"
    assert look("-c", code, DRYNPU_AUTOLOAD=value) == [seen, seen]


@pytest.mark.slow
def test_everybody_sees_what_the_script_has_imported(look: Look) -> None:
    code = START + "import probing; before = probing.module('npu_device'); import npu_device; "
    code += "print(before, probing.module('npu_device'), probing.module('torch_npu'))"
    assert look("-c", code) == ["False", "True", "False"]


APEX = "import importlib.util, probing; print(probing.module('apex'), importlib.util.find_spec('apex') is not None)"


@pytest.mark.slow
def test_apex_is_found_by_the_users_code_alone_and_only_beside_an_npu(look: Look, tmp_path: Path) -> None:
    assert look(script(tmp_path, START + APEX)) == ["False", "False"], "a plain script has no NPU"
    assert look(script(tmp_path, START + APEX), DRYNPU_AUTOLOAD="1") == ["False", "True"]
    assert look(script(tmp_path, START + "import torch_npu; " + APEX)) == ["False", "True"]
    in_a_package = START + "import probing; print(probing.imported('apex'), probing.imported('apex.amp'))"
    assert look(script(tmp_path, in_a_package), DRYNPU_AUTOLOAD="1") == ["False", "False"]


@pytest.mark.slow
def test_the_facade_of_a_plugin_that_is_off_is_not_found_and_says_why(look: Look, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = "import contextlib, io\nimport importlib.util\nimport torch_npu\n"
    code += "with contextlib.redirect_stderr(io.StringIO()) as said:\n    print(importlib.util.find_spec('apex'))\n"
    code += "print(said.getvalue())"
    line = f"[drynpu] {needs_plugin('apex', 'apex')}"
    for value in ("", "-apex", "other"):
        assert " ".join(look(script(tmp_path, START + code), DRYNPU_PLUGINS=value)) == f"None {line}"


@pytest.mark.parametrize(
    ("name", "way"), [("msmemscope", "memory_record.csv"), ("msprof_analyze", "pip install"), ("te", "hook")]
)
def test_a_package_of_the_toolkit_without_a_facade_names_the_way(
    look: Look, tmp_path: Path, name: str, way: str
) -> None:
    code = "import contextlib, io, probing\nwith contextlib.redirect_stderr(io.StringIO()) as printed:\n"
    code += f"    print(probing.imported('{name}'), end='')\n    print(len(printed.getvalue()))\n"
    code += f"    try:\n        import {name}\n    except ModuleNotFoundError as error:\n        print(error.name)\n"
    code += "print(printed.getvalue())"
    quiet, module, *line = look(script(tmp_path, START + code), DRYNPU_AUTOLOAD="1")
    assert (quiet, module) == ("False0", name), "a package that tries it goes on in silence"
    assert line[1:6] == [f"'{name}'", "of", "the", "toolkit", "is"]
    assert way in " ".join(line)


def test_a_checkout_that_looks_for_nvidias_kernels_does_not_find_apex(look: Look, tmp_path: Path) -> None:
    for name in ("megatron", "mindspeed", "mindspeed_llm"):
        script(tmp_path, PROBES, f"{name}.py")
    script(tmp_path, PROBES, "mine.py")
    code = START + (
        "import megatron, mindspeed, mindspeed_llm, mine; "
        "print(*(each.module('apex') for each in (megatron, mindspeed, mindspeed_llm, mine)))"
    )
    assert look(script(tmp_path, code), DRYNPU_AUTOLOAD="1") == ["False", "False", "False", "True"]


def test_a_genuine_apex_is_everybodys(look: Look, tmp_path: Path) -> None:
    genuine = tmp_path / "other" / "apex"
    genuine.mkdir(parents=True)
    (genuine / "__init__.py").write_text("amp = 'genuine'")
    code = START + APEX + "; import apex; print(apex.amp)"
    assert look(script(tmp_path, code), path=(genuine.parent,)) == ["True", "True", "genuine"]


@pytest.mark.slow
def test_torch_npu_makes_every_facade_visible_and_its_distribution(look: Look) -> None:
    code = START + "import probing; print(probing.release(), probing.module('acl')); import torch_npu; "
    code += "print(probing.release() == torch_npu.__version__, probing.module('acl'), probing.module())"
    assert look("-c", code) == ["None", "False", "True", "True", "True"]


def test_the_distribution_is_shown_as_the_module_is(look: Look) -> None:
    code = START + "import importlib.metadata as m, probing\n"
    code += "print(probing.release(), m.version('torch-npu'), m.version('torch.NPU'), m.files('torch_npu'))\n"
    code += "print(m.packages_distributions().get('torch_npu'))"
    __version__ = pytest.importorskip("torch").__version__

    release = f"{__version__.partition('+')[0]}+drynpu"
    assert look("-c", code) == ["None", release, release, "None", "['torch-npu']"]
    listed = START + "import importlib.metadata as m; print([d.name for d in m.distributions()].count('torch-npu'))"
    assert look("-c", listed) == ["1"]


@pytest.mark.parametrize(
    ("setting", "stated"),
    [("", "2.13.0+drynpu"), ("2.7.1.post2", "2.7.1.post2"), ("2.6.0rc1+a", "2.6.0rc1+a"), ("newest", "2.13.0+drynpu")],
)
def test_a_setting_states_another_release(setting: str, stated: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert facade_version("2.13.0+cpu", {"DRYNPU_TORCH_NPU_VERSION": setting}) == stated
    assert ("'newest'" in capsys.readouterr().err) == (setting == "newest")


def test_a_genuine_distribution_is_the_only_one(look: Look, tmp_path: Path) -> None:
    genuine = tmp_path / "genuine"
    (genuine / "torch_npu").mkdir(parents=True)
    (genuine / "torch_npu" / "__init__.py").write_text("")
    (genuine / "torch_npu-9.9.dist-info").mkdir()
    (genuine / "torch_npu-9.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch-npu\nVersion: 9.9\n"
    )
    code = START + "import importlib.metadata as m, probing; print(probing.release(), m.version('torch-npu'))\n"
    code += "print([d.version for d in m.distributions() if d.name == 'torch-npu'])"
    assert look("-c", code, path=(genuine,)) == ["9.9", "9.9", "['9.9']"]


def test_a_folder_with_metadata_holds_packages_whatever_its_name(look: Look, tmp_path: Path) -> None:
    """``pip install --target``; an editable project keeps no such folder and stays the user's."""
    bundle, project = tmp_path / "bundle", tmp_path / "project"
    for folder, name, metadata in ((bundle, "bundled", "bundled-1.dist-info"), (project, "edited", "edited.egg-info")):
        (folder / metadata).mkdir(parents=True)
        (folder / f"{name}.py").write_text(PROBES)
    code = START + "import bundled, edited; print(bundled.module(), edited.module())"
    assert look("-c", code, path=(bundle, project)) == ["False", "True"]


@pytest.mark.slow
def test_pytest_imports_on_behalf_of_the_test(look: Look, tmp_path: Path) -> None:
    test = "import pytest, probing\ndef test_it():\n    pytest.importorskip('npu_device')\n"
    script(tmp_path, test + "    assert not probing.module('hccl')\n", "test_mine.py")
    (tmp_path / "conftest.py").write_text(START + "\nimport importlib.util\nassert importlib.util.find_spec('hccl')\n")
    assert look("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")[:2] == [".", "[100%]"]


def test_a_module_of_an_installed_package_that_is_started_is_a_packages(look: Look, tmp_path: Path) -> None:
    (tmp_path / "env" / "site-packages" / "probing" / "__main__.py").write_text(START + PROBES + "print(module())")
    assert look("-m", "probing") == ["False"]


def test_the_finder_is_there_once_and_last(look: Look) -> None:
    code = (
        START
        + START
        + "kinds = [type(finder).__name__ for finder in sys.meta_path]; print(kinds.count(kinds[-1]), kinds[-1])"
    )
    assert look("-c", code) == ["1", "FacadeFinder"]


def test_it_imports_next_to_nothing(look: Look) -> None:
    code = "import os, sys; before = set(sys.modules); " + START + "print(*sorted(set(sys.modules) - before))"
    assert look("-c", code) == ["__future__", "_drynpu_finder"]


PACKAGES = (
    "acl",
    "npu_bridge.estimator.npu",
    "torch_npu",
    "torch_npu._C",
    "torch_npu.contrib",
    "torch_npu.npu",
    "torch_npu.utils",
)
"""Packages of facades that plugins may add to."""


def every_part() -> list[FacadePart]:
    return [part for package in PACKAGES for _, part in build_manager().facade_parts(package)]


def test_the_finder_knows_every_facade(monkeypatch: pytest.MonkeyPatch) -> None:
    import _drynpu_finder

    monkeypatch.delenv(PLUGINS_VARIABLE, raising=False)

    every = build_manager().facades()
    assert sorted(facade.module for facade in every) == sorted(_drynpu_finder.NAMES)
    of_plugins = {facade.module: facade.folder.parent for facade in every if facade.folder.parents[1].name == "plugins"}
    assert {module: folder.name for module, folder in of_plugins.items()} == _drynpu_finder._PLUGIN_OF
    places = {str(facade.folder) for facade in every}
    places |= {str(part.folder).removesuffix("/" + part.package.replace(".", "/")) for part in every_part()}
    assert places == set(_drynpu_finder.FacadeFinder(_drynpu_finder._facade_folders()).folders)


def test_the_finder_knows_the_parts_of_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    import _drynpu_finder

    monkeypatch.delenv(PLUGINS_VARIABLE, raising=False)

    served = {"torchair": "torch_operators"}
    joined = {}
    for part in every_part():
        plugin = part.folder.relative_to(PLUGINS).parts[0]
        modules = {*part.folder.glob("*.py"), *(init.parent for init in part.folder.glob("*/__init__.py"))}
        served |= {f"{part.package}.{module.stem}": plugin for module in modules if module.stem != part.names}
        joined[plugin] = part.package.partition(".")[0]
    assert served == _drynpu_finder._PART_OF
    assert joined == _drynpu_finder._JOINED
