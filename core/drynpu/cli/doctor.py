"""``drynpu doctor``: what this installation resolves to."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata, util
from pathlib import Path

import click
from attrs import asdict, frozen
from rich.table import Table
from rich.text import Text

from _drynpu_finder import served_folders
from drynpu import __version__, find_genuine
from drynpu.cli._msprof_script import msprof_installer
from drynpu.cli._probing import Probed, described, run_probes
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.plugins import Facade, Plugins, StandIn

_FRAMEWORKS = ("torch", "tensorflow-cpu", "mindspore")
_STYLES = {"works": "green", "broken": "red", "absent": "dim"}
_ABSENT = "not installed"
_LEAST = re.compile(r"([\w.-]+)>=([\d.]+)")
"""A package that is always needed, and from which release on."""
_LIBRARIES = ("numpy", "polars", "attrs", "cattrs", "pluggy", "orjson")


@frozen
class Resolution:
    """What a vendor name resolves to."""

    module: str
    kind: str
    """``drynpu``, ``genuine`` or ``nothing``."""
    origin: str
    note: str


@msprof_installer
@click.command()
@click.option("--fix", is_flag=True, help="Do what can be done here: build the npu device of PyTorch.")
@click.option("--quick", is_flag=True, help="Run no programs: say what is there, not whether it works.")
@as_json
@click.pass_obj
def doctor(plugins: Plugins, fix: bool, quick: bool, json_output: bool) -> None:
    """
    Say what works here, what every vendor name resolves to, which frameworks are there, and what is wrong with plugins.

    Runs a tiny program on each surface that is installed. Ends with status 1 if one of them fails, a plugin cannot be
    loaded, or something could not be mended.
    """
    plugins.load_all()
    mended, failed = _mend(plugins) if fix else ([], [])
    names = [_resolve(facade) for facade in plugins.facades()] + [_stand_in(each) for each in plugins.stand_ins()]
    versions = {name: _version(name) for name in (*_FRAMEWORKS, *_LIBRARIES)}
    probed = [] if quick else run_probes(plugins.probes())
    problems = [*(str(problem) for problem in plugins.problems), *failed, *_old_packages()]
    if json_output:
        echo_json(
            {
                "drynpu": __version__,
                "python": platform.python_version(),
                "executable": sys.executable,
                "packages": versions,
                "vendor_names": [asdict(name) for name in names],
                "surfaces": [asdict(each) for each in probed],
                "plugins": {name: plugins.place(name) for name in plugins.names},
                "problems": problems,
                **({"mended": mended} if fix else {}),
            }
        )
    else:
        _show(plugins, probed, names, versions, problems)
        if fix:
            for line in mended or ["nothing to mend"]:
                console().print(line, style="green", soft_wrap=True)
    if problems or any(each.state == "broken" for each in probed):
        raise SystemExit(1)


def _mend(plugins: Plugins) -> tuple[list[str], list[str]]:
    """Do what the notes of the facades advise; return what was done, and what could not be done."""
    mended, failed = [], []
    for facade in plugins.facades():
        if facade.mend is None or find_genuine(facade.module) is not None or not util.find_spec(facade.framework):
            continue
        try:
            done = facade.mend()
        except Exception as error:  # noqa: BLE001 - likewise
            failed.append(f"{facade.module}: {described(error)}")
            continue
        if done:
            mended.append(f"{facade.module}: {done}")
    return mended, failed


def _resolve(facade: Facade) -> Resolution:
    genuine = find_genuine(facade.module)
    if genuine is not None:
        note = "a genuine package always wins; drynpu stays out of the way"
        return Resolution(facade.module, "genuine", str(genuine.origin), note)
    framework = "" if util.find_spec(facade.framework) else f"needs pip install 'drynpu[{facade.extra}]'"
    spec = util.find_spec(facade.module) if _is_served(facade.folder) else None
    if spec is None:
        return Resolution(facade.module, "nothing", str(facade.folder), "served by drynpu run only (no .pth is read)")
    if framework or facade.note is None:
        return Resolution(facade.module, "drynpu", str(spec.origin), framework or "served")
    try:
        note = f"served; {facade.note()}"
    except Exception as error:  # noqa: BLE001 - what is broken is what the doctor looks for
        note = f"broken: {described(error)}"
    return Resolution(facade.module, "drynpu", str(spec.origin), note)


def _stand_in(offered: StandIn) -> Resolution:
    genuine = find_genuine(offered.framework)
    if genuine is not None:
        return Resolution(offered.framework, "genuine", str(genuine.origin), f"{offered.module} is not served")
    spec = util.find_spec(offered.module)
    origin = "" if spec is None else str(spec.origin)
    note = f"{offered.module}, under drynpu run only; pip install 'drynpu[{offered.extra}]' for the framework itself"
    return Resolution(offered.framework, "drynpu", origin, note)


def _is_served(folder: Path) -> bool:
    return any(Path(entry).resolve() == folder.resolve() for entry in (*sys.path, *served_folders()) if entry)


def _old_packages() -> list[str]:
    """Return what is too old, or not there, of the packages that drynpu needs."""
    problems = []
    for requirement in metadata.requires("drynpu") or ():
        needed = _LEAST.fullmatch(requirement)
        if needed is None:
            continue
        name, least = needed.groups()
        there = _version(name)
        if there == _ABSENT or _numbers(there) < _numbers(least):
            problems.append(f"{name} {there}: drynpu needs {least} or newer: pip install '{name}>={least}'")
    return problems


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return _ABSENT


def _surfaces(probed: list[Probed]) -> Table:
    table = Table(title="What works")
    table.add_column("surface", no_wrap=True)
    table.add_column("a tiny program", overflow="fold")
    for each in probed:
        table.add_row(each.surface, Text(each.text, style=_STYLES[each.state]))
    return table


def _show(
    plugins: Plugins,
    probed: list[Probed],
    names: list[Resolution],
    versions: dict[str, str],
    problems: list[str],
) -> None:
    out = console()
    out.print(f"drynpu {__version__}, Python {platform.python_version()} ({sys.executable})", soft_wrap=True)
    if probed:
        out.print(_surfaces(probed))
    table = Table(title="Vendor names")
    table.add_column("import", no_wrap=True)
    table.add_column("resolves to", no_wrap=True)
    table.add_column("note, and where it is", overflow="fold")
    for resolution in names:
        table.add_row(
            resolution.module, resolution.kind, Text.assemble(resolution.note, "\n", (resolution.origin, "dim"))
        )
    out.print(table)
    packages = Table(title="Packages")
    packages.add_column("name")
    packages.add_column("version")
    for package, version in versions.items():
        packages.add_row(package, version)
    out.print(packages)
    loaded = Table(title="Plugins")
    loaded.add_column("name", no_wrap=True)
    loaded.add_column("entry point (package)", overflow="fold")
    for name in plugins.names:
        loaded.add_row(name, plugins.place(name).removeprefix("drynpu.adapters: "))
    out.print(loaded)
    for problem in problems:
        out.print(f"problem: {problem}", style="red", soft_wrap=True)
