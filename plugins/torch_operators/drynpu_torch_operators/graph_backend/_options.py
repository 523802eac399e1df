"""The options of the compiler: kept as they are set, without an effect here."""

from __future__ import annotations

from typing import Any, Final

MODES: Final = ("max-autotune", "reduce-overhead", "npugraph_ex")
"""Values of ``CompilerConfig.mode``; the first is its default."""


class Options:
    """A group of options; every name can be set and is a group of its own until then."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        group = Options()
        self.__dict__[name] = group
        return group

    def __bool__(self) -> bool:
        return bool(self.__dict__)


class CompilerConfig(Options):
    """The options of one compilation."""

    def __init__(self) -> None:
        self.mode = MODES[0]

    def __setattr__(self, name: str, value: Any) -> None:
        """
        Keep an option.

        Raises
        ------
        ValueError
            The mode is none of the compiler's.
        """
        if name == "mode" and value not in MODES:
            raise ValueError(f"Value {value!r} (type: {type(value)}) not in optional list {list(MODES)}")
        super().__setattr__(name, value)
