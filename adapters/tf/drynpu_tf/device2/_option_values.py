"""
Options of ``npu_device`` and the trees they form (tf_adapters.md 2.1).

Assignments are checked at once, with the vendor's messages. Reading an attribute returns the option, not its value, as
with the vendor; so it is true whatever the value is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from drynpu import say_once
from drynpu.options import Settings

_RETIRED = frozenset({"auto_tune_mode"})
"""What earlier versions had and ported scripts still set."""

Table: TypeAlias = "Mapping[str, Callable[[], OptionValue | NpuBaseConfig]]"
"""What a node holds, in order: the name, and what makes the option or the node."""


class OptionValue:
    """
    One option.

    Parameters
    ----------
    default:
        What it is until it is set.
    optional:
        The values it may take; ``None``: anything, which is not checked at all.
    """

    def __init__(self, default: object, optional: object) -> None:
        self._default, self._optional, self._value = default, optional, default
        self._is_set = False

    @property
    def default(self) -> object:
        """What it is until it is set."""
        return self._default

    @property
    def optional(self) -> object:
        """The values it may take."""
        return self._optional

    @property
    def is_set(self) -> bool:
        """Whether the option was ever set."""
        return self._is_set

    @property
    def value(self) -> str | None:
        """
        The value as the graph engine is given it: ``"1"`` and ``"0"`` for booleans, others as text, ``None`` for none.

        Raises
        ------
        TypeError, ValueError
            Set to a value that is not among those it may take: ``TypeError`` if that is not of the default's type.
        """
        if self._value is None:
            return None
        text = str(self._value)
        return {"True": "1", "False": "0"}.get(text, text)

    @value.setter
    def value(self, new: object) -> None:
        if isinstance(self._optional, (tuple, list)) and new not in self._optional:
            if self._default is not None and not isinstance(new, type(self._default)):
                raise TypeError(f"Expected {type(self._default).__name__}, got {type(new).__name__}")
            raise ValueError(f"'{new}' not in optional list {self._optional}")
        self._value, self._is_set = new, True


class DeprecatedValue(OptionValue):
    """An option that will be removed; reading its tree prints a warning if it is set."""

    def __init__(self, optional: object, *, replacement: str | None) -> None:
        super().__init__(None, optional)
        self.replacement = replacement


class NpuBaseConfig:
    """
    A node: its options and further nodes by name, in order.

    Setting an option sets its value; setting a node replaces it; any other name raises ``ValueError``. Names that
    earlier versions had are passed over with a warning, unless ``DRYNPU_STRICT`` is set.
    """

    _table: ClassVar[Table] = {}
    _fixed_attrs: list[str]
    _changed: Callable[[str], None] | None

    def __init__(self) -> None:
        # Past __setattr__, which takes names of options only.
        self.__dict__.update({name: make() for name, make in self._table.items()})
        self.__dict__["_fixed_attrs"] = list(self._table)
        self.__dict__["_changed"] = None

    def __setattr__(self, key: str, value: object) -> None:
        if key not in self._fixed_attrs:
            if key in _RETIRED and not Settings.from_environ(os.environ).strict:
                say_once(f"npu_device: the option {key} is gone in this version and has no effect.")
                return
            raise ValueError(f"{type(self).__name__} has no option {key}, all options {self._fixed_attrs}")
        present = self.__dict__[key]
        if isinstance(present, OptionValue):
            present.value = value
        else:
            self.__dict__[key] = value
        if self._changed is not None:
            self._changed(key)

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* with the name of every option of the tree that is set from now on."""
        self.__dict__["_changed"] = changed
        for name in self._fixed_attrs:
            node = self.__dict__[name]
            if isinstance(node, NpuBaseConfig):
                node.watch(changed)

    def as_dict(self) -> dict[str, str]:
        """Return the values that are set or have a default, by the names of options; names of nodes are left out."""
        values: dict[str, str] = {}
        for name in self._fixed_attrs:
            held = self.__dict__[name]
            if isinstance(held, NpuBaseConfig):
                values |= held.as_dict()
            elif isinstance(held, OptionValue) and held.value is not None:
                if isinstance(held, DeprecatedValue):
                    _warn(name, held.replacement)
                values[name] = held.value
        return values


def _warn(name: str, replacement: str | None) -> None:
    advice = (
        "Please do not configure this option in the future."
        if replacement is None
        else f"Please use '{replacement}' instead."
    )
    sys.stdout.write(
        f"[warning][tf_adapter] Option '{name}' is deprecated and will be removed in future version. {advice}\n"
    )
