"""The ``drynpu`` command: its verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from drynpu import CommandError, DrynpuError, PluginError, __version__
from drynpu.cli._analyze import analyze
from drynpu.cli._check import check
from drynpu.cli._chips import chips
from drynpu.cli._completion import completion
from drynpu.cli._doctor import doctor
from drynpu.cli._msprof import msprof
from drynpu.cli._msprof_install import msprof_installer
from drynpu.cli._run import run
from drynpu.plugins import Plugins, build_manager

__all__ = ["build_cli", "main"]

_VERBS = (run, analyze, msprof, check, chips, msprof_installer(doctor), completion)


def build_cli(plugins: Plugins) -> click.Group:
    """Return a fresh command group: the bundled verbs, which find *plugins* in their context, and those of plugins."""

    @click.group(context_settings={"help_option_names": ["-h", "--help"], "obj": plugins})
    @click.version_option(__version__, prog_name="drynpu")
    def cli() -> None:
        """Run Ascend profiling code where there is no NPU, and look at what it leaves."""

    for verb in _VERBS:
        cli.add_command(verb)
    plugins.add_commands(cli)
    return cli


def main(argv: Sequence[str] | None = None) -> None:
    """
    Run the command line; the console script.

    An error of drynpu is one message on stderr and the exit status 1 (or the one the error carries). A plugin that
    cannot be loaded is such an error, except for ``drynpu doctor``, which explains it.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        plugins = build_manager(record_problems=True)
        cli = build_cli(plugins)
        if plugins.problems and arguments[:1] != [doctor.name]:
            raise PluginError("\n".join(map(str, plugins.problems)) + "\nSee: drynpu doctor")
        cli.main(args=arguments, prog_name="drynpu")
    except DrynpuError as error:
        click.echo(f"drynpu: {error}", err=True)
        sys.exit(error.exit_code if isinstance(error, CommandError) else 1)
