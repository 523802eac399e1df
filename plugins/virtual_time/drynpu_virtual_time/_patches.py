"""Names of Python that are replaced by functions of the virtual clock, each after a look at what is there."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType, ModuleType

from attrs import define, field

# The last one waits for programs of this machine.
_OURS = ("drynpu", "_drynpu", "subprocess")
# They make locks and threads on behalf of the code that calls them.
_GO_BETWEENS = ("drynpu_virtual_time", "threading", "queue", "concurrent", "contextlib", "functools", "attr")
_WATCHES_STARTS = "drynpu_torch.capture._threads"


def is_ours(frame: FrameType | None) -> bool:
    """Return whether the code that called, past what only passes calls on, is drynpu's: that measures this machine."""
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        first = name.split(".", 1)[0]
        if first not in _GO_BETWEENS and name != _WATCHES_STARTS:
            return first.startswith(_OURS)
        frame = frame.f_back
    return False


@define
class Replaced:
    """What was replaced, so that modules that are there already get it as well."""

    functions: dict[int, tuple[object, object]] = field(factory=dict)

    def put(self, owner: ModuleType, name: str, function: object) -> None:
        """Replace ``owner.name``, where this system has it."""
        before = vars(owner).get(name)
        if before is None:
            return
        setattr(owner, name, function)
        self.functions[id(before)] = (before, function)

    def spread(self, modules: Mapping[str, ModuleType]) -> None:
        """
        Replace the same objects under other names in the modules that have imported them by name.

        N32, docs/tricks.md
        """
        for module_name, module in list(modules.items()):
            if module_name.startswith(_OURS) or not isinstance(module, ModuleType):
                continue
            for name, value in list(vars(module).items()):
                before, function = self.functions.get(id(value), (None, None))
                if before is not None and before is value:
                    setattr(module, name, function)
