"""``drynpu completion``: the script that makes the shell complete verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_INSTALL = {
    "bash": 'eval "$(drynpu completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(drynpu completion zsh)"   # in ~/.zshrc',
    "fish": "drynpu completion fish | source   # in ~/.config/fish/completions/drynpu.fish",
}


@click.command(epilog="\b\n" + "\n".join(_INSTALL.values()))
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL; the lines below switch it on for good."""
    kind = get_completion_class(shell)
    if kind is None:  # Choice allows only shells that click knows
        raise click.UsageError(f"click cannot complete for {shell}")
    click.echo(kind(context.find_root().command, {}, "drynpu", "_DRYNPU_COMPLETE").source())
