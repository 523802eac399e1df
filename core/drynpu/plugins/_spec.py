"""
The hooks. A plugin implements any of them; it may leave out parameters that it does not need.

A plugin module must be cheap to import: it is imported whenever all plugins are asked something, also in processes
that use another framework. Import a framework, and anything heavy, inside the hook functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from drynpu.plugins._markers import hookspec
from drynpu.plugins._values import (
    Activation,
    BlockRecorder,
    Exporter,
    Facade,
    FacadePart,
    KernelRule,
    Probe,
    RecordedCalls,
    StandIn,
)

if TYPE_CHECKING:
    import click

__all__ = [
    "drynpu_activate",
    "drynpu_block_recorder",
    "drynpu_chips",
    "drynpu_cli",
    "drynpu_device_installed",
    "drynpu_exporters",
    "drynpu_facade_parts",
    "drynpu_facades",
    "drynpu_framework_loaded",
    "drynpu_kernel_rules",
    "drynpu_notebook_opened",
    "drynpu_open_run",
    "drynpu_pages",
    "drynpu_probes",
    "drynpu_products",
    "drynpu_record_groups",
    "drynpu_recorded_calls",
    "drynpu_stand_ins",
]


@hookspec
def drynpu_facades() -> Iterable[Facade]:  # type: ignore[empty-body]
    """
    Name the vendor modules that this adapter stands in for.

    Returns
    -------
    Iterable[Facade]
        One entry per top-level vendor module. ``drynpu run`` puts the folders on ``sys.path`` after everything
        else; ``drynpu doctor`` reports what each name resolves to.
    """


@hookspec
def drynpu_facade_parts() -> Iterable[FacadePart]:  # type: ignore[empty-body]
    """
    Add modules and names to the facade of an adapter.

    Returns
    -------
    Iterable[FacadePart]
        One entry for each package that gets some. They join it when the facade is imported: only where no genuine
        package takes its place.
    """


@hookspec
def drynpu_device_installed(framework: str) -> None:
    """
    Stand on the simulated device: called once per process, after an adapter has installed it in its framework.

    Parameters
    ----------
    framework:
        The adapter that calls, e.g. ``"torch"``. Do nothing for any other than yours.
    """


@hookspec
def drynpu_stand_ins() -> Iterable[StandIn]:  # type: ignore[empty-body]
    """
    Name the packages that stand in for a framework that is not there.

    Returns
    -------
    Iterable[StandIn]
        The framework's adapter serves the first one under the framework's name, under ``drynpu run`` alone, so that
        nothing is shadowed outside. ``drynpu doctor`` shows it.
    """


@hookspec
def drynpu_probes() -> Iterable[Probe]:  # type: ignore[empty-body]
    """
    Give tiny programs that show whether what this adapter serves works here.

    Returns
    -------
    Iterable[Probe]
        One for each surface. ``drynpu doctor`` runs each in a process of its own, where the framework is installed.
    """


@hookspec
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:  # type: ignore[empty-body]
    """
    Map operators of a framework to the kernels that one call launches.

    Parameters
    ----------
    framework:
        The adapter whose operators are asked for, e.g. ``"torch"``. Answer ``{}`` for any other than yours.

    Returns
    -------
    Mapping[str, KernelRule]
        Operator name as the framework spells it (``aten::addmm``) -> rule. A rule takes a
        ``drynpu.kernels.Signature`` and returns a ``drynpu.kernels.KernelPlan``, or ``None`` when it has no
        answer for that signature. It is called once per distinct signature. A rule replaces a bundled one of the
        same name; two external plugins with the same name are an error.
    """


@hookspec
def drynpu_recorded_calls(framework: str) -> RecordedCalls | None:
    """
    Say how operators in genuine profiles of a framework are read, so that they can be given kernels.

    Parameters
    ----------
    framework:
        The adapter whose operators are asked for, e.g. ``"torch"``. Answer ``None`` for any other than yours.
    """


@hookspec
def drynpu_chips() -> Iterable[Path]:  # type: ignore[empty-body]
    """
    Add chip descriptions.

    Returns
    -------
    Iterable[Path]
        YAML files with the fields of ``drynpu.platforms.Chip``, one chip each.
    """


@hookspec
def drynpu_exporters() -> Mapping[str, Exporter]:  # type: ignore[empty-body]
    """
    Add ways to write a profile.

    Returns
    -------
    Mapping[str, Exporter]
        Name for the command line -> function that takes a ``drynpu.tables.Profile`` and a folder, writes its files
        there and returns their paths. ``drynpu export`` calls it for each rank of a run with the same folder, so put
        the rank into the names. A name that exists already is an error.
    """


@hookspec
def drynpu_record_groups() -> Iterable[object]:  # type: ignore[empty-body]
    """
    Add record groups: measurements with their raw records, tables, csv files, layers and database rows.

    Returns
    -------
    Iterable[object]
        ``drynpu.deliverables.record_group.RecordGroup`` values. A group or a table by a name that exists already is an
        error.
    """


@hookspec
def drynpu_products() -> Iterable[object]:  # type: ignore[empty-body]
    """
    Add result directories: how another profiler's directories are recognised, read, written and exported.

    Returns
    -------
    Iterable[object]
        ``drynpu.products.Product`` values. A recording whose ``Target.framework`` is the name of one is written by
        it, and ``drynpu analyze`` reads and exports the directories that it recognises. A name that is taken is an
        error.
    """


@hookspec
def drynpu_cli(group: click.Group) -> None:
    """
    Add verbs to the ``drynpu`` command.

    Parameters
    ----------
    group:
        The command's group; add commands with ``group.command(...)`` or ``group.add_command(...)``. A verb that
        drynpu already has cannot be replaced. A `drynpu.plugins.verbs.LazyVerb` is imported when it is called.
    """


@hookspec
def drynpu_pages() -> Iterable[object]:  # type: ignore[empty-body]
    """
    Add pages to the dashboard, the report and the notebook, which the plugin ``pages`` shows.

    Returns
    -------
    Iterable[object]
        ``drynpu.views.page.Page`` values, in the order of the menu; their blocks are values of
        ``drynpu.views.content``. A name that is taken is an error.
    """


@hookspec
def drynpu_open_run(path: Path) -> object:
    """
    Open a run for a script or a notebook.

    Parameters
    ----------
    path:
        A result directory, a folder with the ranks of one run, or a single result file.

    Returns
    -------
    object
        What ``drynpu.open_run`` returns.

    Raises
    ------
    OutputError
        There is no run at *path*, or more than one.
    """


@hookspec
def drynpu_notebook_opened(shell: object) -> bool | None:
    """
    Add magics to a notebook.

    Parameters
    ----------
    shell:
        The ``InteractiveShell`` of IPython that ran ``%load_ext drynpu``.

    Returns
    -------
    bool | None
        ``True`` where some were added.
    """


@hookspec
def drynpu_activate(context: Activation) -> None:
    """
    Prepare the process for a script: called by ``drynpu run`` after the facades are on the path, before it starts.

    Parameters
    ----------
    context:
        The script, its arguments and its environment.
    """


@hookspec
def drynpu_framework_loaded(framework: str, loaded: object) -> None:
    """
    Add to a framework that a script has imported under ``drynpu run``, when the framework's adapter has patched it.

    Parameters
    ----------
    framework:
        The framework that was imported, e.g. ``"mindspore"``. Do nothing for any other than yours.
    loaded:
        What the adapter hands over: ``drynpu_mindspore.loaded.LoadedMindSpore`` of MindSpore, and of ``"onnx"``, which
        is called for models with certain nodes, ``drynpu_acl.runtime.Evaluators``.
    """


@hookspec
def drynpu_block_recorder(framework: str, folder: Path) -> BlockRecorder | None:
    """
    Record a block of a test or of a notebook with a framework's profiler.

    Parameters
    ----------
    framework:
        The adapter whose profiler is wanted, e.g. ``"torch"``. Answer ``None`` for any other than yours.
    folder:
        Where the result directory belongs.

    Raises
    ------
    ImportError
        The framework is not installed.
    """
