"""What settings and plugins choose for a recording: its chip, and what maps operators to kernels."""

from __future__ import annotations

from collections.abc import Iterable

from drynpu._errors import OptionError
from drynpu._say import say_once
from drynpu.kernels import Rule, build_rule_book
from drynpu.options import Settings
from drynpu.platforms import Chip, load_chip, load_topology
from drynpu.plugins import Plugins, from_plugins
from drynpu.simulate import Planner


def load_chosen_chip(settings: Settings) -> Chip:
    """
    Return the chip that the settings name, of the catalogue or of a plugin, with the links of their topology.

    A topology that cannot be used is named in a line on stderr, and the links of the chip's description serve.

    Raises
    ------
    ChipError
        There is no such chip.
    """
    chip = load_chip(settings.chip, extra_files=from_plugins(Plugins.chip_files))
    if not settings.topology:
        return chip
    try:
        return load_topology(settings.topology).applied(chip)
    except OptionError as error:
        say_once(f"DRYNPU_TOPOLOGY: {error} The links of {chip.name} are used instead.")
        return chip


def framework_plan(framework: str, fallbacks: Iterable[Rule] = ()) -> Planner:
    """Return what maps the operators of a framework to kernels: the rules of all plugins, else *fallbacks*."""
    return build_rule_book(from_plugins(lambda plugins: plugins.kernel_rules(framework)), fallbacks=fallbacks).plan
