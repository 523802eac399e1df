"""The ``drynpu`` command: its verbs, each loaded when it is used, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import click
from click.formatting import HelpFormatter

from drynpu import CommandError, DrynpuError, PluginError, __version__
from drynpu.plugins import Plugins, build_manager
from drynpu.plugins.verbs import LazyVerb

SECTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Run scripts": {
            "run": "Run a script as if this machine had NPUs.",
        },
        "Look at runs": {
            "advise": "Say what costs time in a run, and what to do about it.",
            "analyze": "Summarise profiles, and rebuild their files from raw data.",
            "compare": "Say what changed from one run to another.",
            "export": "Write a run for other tools: Chrome trace, MindInsight, Parquet.",
        },
        "Kernel times": {
            "chips": "List the chips that can be simulated, or every figure of one.",
        },
        "This installation": {
            "doctor": "Say what is installed, what vendor imports get, what is wrong.",
            "completion": "Print a script that completes commands in your shell.",
        },
    }
)
"""Verbs of the core by what they are for, with their line in the help; the module of that name holds the command."""
_OTHERS = "Of frameworks and plugins"
"""Title above the verbs that name no section."""
_WIDTH = 100
"""Of the help on a terminal that is as wide: click stops at 80, which wraps most lines of options."""


class _Verbs(click.Group):
    """A command group that imports a lazy verb when it is called."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, ready to run."""
        command = super().get_command(ctx, cmd_name)
        return command.load() if isinstance(command, LazyVerb) else command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb to run; where it is unknown, say which plugin has it if that is switched off."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            plugins: Plugins = ctx.obj
            off = plugins.off_for_verb(args[0])
            if not off:
                raise
            raise click.UsageError(f"{error.message} {off}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - click passes it
        """List the verbs with their lines by purpose, without importing them; then the verbs of plugins."""
        widest = max(map(len, self.commands))
        limit = formatter.width - 4 - widest  # click indents names by two and parts columns by two
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS}
        others: list[tuple[str, str]] = []
        for name, command in self.commands.items():
            if isinstance(command, LazyVerb):
                section = sections.setdefault(command.section, []) if command.section else others
                section.append((f"{name:{widest}}", command.line))
            elif not command.hidden:
                others.append((f"{name:{widest}}", command.get_short_help_str(limit)))
        for title, lines in (*sections.items(), (_OTHERS, others)):
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def build_cli(plugins: Plugins) -> click.Group:
    """Return a fresh command group: the verbs of the core, which find *plugins* in their context, and of plugins."""
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH, "obj": plugins}

    @click.group(cls=_Verbs, context_settings=settings)
    @click.version_option(__version__, prog_name="drynpu")
    def cli() -> None:
        """Run Ascend profiling code where there is no NPU, and look at what it leaves."""

    for section, lines in SECTIONS.items():
        for name, line in lines.items():
            cli.add_command(LazyVerb(name, f"drynpu.cli.{name}", line, section))
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
