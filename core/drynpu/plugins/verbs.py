"""Verbs of the command line that are imported when they are called."""

from __future__ import annotations

import importlib

import click


class LazyVerb(click.Command):
    """
    A verb whose module is imported when somebody calls the verb, so that no verb pays for the others.

    Parameters
    ----------
    name:
        The verb; *module* binds the command to this name.
    module:
        Name of the module to import.
    line:
        What the list of verbs says of it.
    section:
        Title in the list of verbs below which it stands; empty: with the verbs of plugins.
    """

    def __init__(self, name: str, module: str, line: str, section: str = "") -> None:
        super().__init__(name, short_help=line)
        self.module = module
        self.line = line
        self.section = section

    def load(self) -> click.Command:
        """Import the module and return the command."""
        command: click.Command = getattr(importlib.import_module(self.module), str(self.name))
        return command
