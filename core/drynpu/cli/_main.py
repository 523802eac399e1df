"""The ``drynpu`` command: its verbs, each loaded when it is used, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import click
from click.formatting import HelpFormatter

from drynpu import CommandError, DrynpuError, PluginError, __version__
from drynpu.plugins import Plugins, build_manager

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "run": "Run a script as if this machine had NPUs.",
        "analyze": "Summarise profiles and rebuild their deliverables.",
        "msprof": "The vendor's msprof: record an application; export, query and analyze PROF directories.",
        "dashboard": "Look at profiles in a browser.",
        "advise": "Say what costs time in a run, and what to do about it.",
        "cluster": "Analyse the ranks of a run together, as msprof-analyze cluster does.",
        "synth": "Make a synthetic cluster of many ranks from a few recorded ones.",
        "sweep": "Compare steps, memory and communication of a script over values of its options.",
        "compare": "Say what changed from one run to another.",
        "export": "Write a run as other tools read it: Chrome trace, MindInsight, Parquet.",
        "report": "Write the pages of a run to one HTML file.",
        "check": "Lint and explain profiling options, or find the mistakes of a script in its first steps.",
        "predict": "Say how long kernels and transfers of a table take.",
        "validate": "Say how far off predicted kernel times are for a genuine profile.",
        "calibrate": "Fit the model of kernel times to genuine profiles.",
        "chips": "List the chips that can be simulated.",
        "doctor": "Say what this installation resolves to.",
        "completion": "Print the completion script of a shell.",
    }
)
"""Bundled verbs with their line in the help; the module of that name in this room holds the command."""


class _Unloaded(click.Command):
    """A bundled verb whose module was not imported yet."""


class _Verbs(click.Group):
    """A command group that imports a bundled verb when it is called, so that no verb pays for the others."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, ready to run."""
        found = super().get_command(ctx, cmd_name)
        if isinstance(found, _Unloaded):
            found = self.commands[cmd_name] = getattr(importlib.import_module(f"drynpu.cli.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """List the verbs with their lines, without importing them."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))  # click indents names by two and parts columns by two
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, VERBS.get(name) or self.commands[name].get_short_help_str(limit)) for name in names]
            )


def build_cli(plugins: Plugins) -> click.Group:
    """Return a fresh command group: the bundled verbs, which find *plugins* in their context, and those of plugins."""

    @click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "obj": plugins})
    @click.version_option(__version__, prog_name="drynpu")
    def cli() -> None:
        """Run Ascend profiling code where there is no NPU, and look at what it leaves."""

    for name in VERBS:
        cli.add_command(_Unloaded(name))
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
        if plugins.problems and arguments[:1] != ["doctor"]:
            raise PluginError("\n".join(map(str, plugins.problems)) + "\nSee: drynpu doctor")
        cli.main(args=arguments, prog_name="drynpu")
    except DrynpuError as error:
        click.echo(f"drynpu: {error}", err=True)
        sys.exit(error.exit_code if isinstance(error, CommandError) else 1)
