"""The simulator's own settings, from environment variables."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu._say import say_once
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Severity
from drynpu.options._problems import Refused
from drynpu.platforms import DEFAULT_CHIP

_PREFIX = "DRYNPU_"
# The host takes device id 64 (cann_msprof.md 2.4), so a node has fewer devices than that.
_MAX_DEVICES = 63
# More than any device has.
_MAX_BYTES = 2**50
# A mask of 8 sequences of 8 192 tokens in int64 is half of it; an operator on so much takes the host a millisecond.
_COMPUTED_BYTES = 2**20
# The jitter of kernel times is computed in 64 bits.
_MAX_SEED = 2**64 - 1
_TRUE, _FALSE = ("1", "true", "on", "yes"), ("0", "false", "off", "no")
# Read by the import guard of the facades, by the adapters and by the cost model, not here.
_ELSEWHERE = (
    *("PLUGINS", "AUTOLOAD", "MINDSPORE_API", "PROFILE", "CHECK", "TF1", "ACL_VERSION", "ACL_COMPAT", "OOM"),
    *("CALIBRATION", "WORLD", "RUN", "TIME", "TORCH_NPU_VERSION", "PROGRESS"),
)


class Clock(enum.Enum):
    """Which host timeline a recording shows."""

    PROJECTED = "projected"
    """As it would be beside an NPU; between operators as measured on this CPU."""
    MODELLED = "modelled"
    """As it would be beside an NPU, between operators too: the same on a busy machine as on an idle one."""
    WALL = "wall"
    """As measured on this CPU."""


class TorchDevice(enum.Enum):
    """What serves the npu device of PyTorch."""

    NATIVE = "native"
    """A device of PyTorch in C++: its tensors say npu."""
    SINK = "sink"
    """Tensors of the CPU, which say cpu."""


@frozen(kw_only=True)
class Settings:
    """
    What the simulation runs as.

    ``chip`` is a name of the chip catalogue, which is checked where chips are loaded. ``notices`` names variables
    that look like misspellings. ``report_device``: tensors say that they are on the device, where a framework's tensors
    would otherwise say cpu. ``topology`` is the path of a file with the links of the cluster, empty for
    the links of the chip. ``device``: what serves the npu of PyTorch, ``None`` for the native device where it is
    built and the sink elsewhere. ``build``: the first use of the npu builds the native device where it is not there.
    ``compute``: its operators compute values. Without, they run on shapes alone, the
    script reads ``values`` where it asks for a floating-point number, and only tensors of at most ``computed_bytes``
    are computed, where their values follow from the host's.
    """

    chip: str = DEFAULT_CHIP
    topology: str = ""
    devices: int = 8
    clock: Clock = Clock.MODELLED
    seed: int = 0
    strict: bool = False
    quiet: bool = False
    report_device: bool = False
    device: TorchDevice | None = None
    build: bool = False
    compute: bool = True
    values: float = 1.0
    computed_bytes: int = _COMPUTED_BYTES
    notices: tuple[Notice, ...] = field(default=(), eq=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """
        Read the variables, which have the names of the fields: ``DRYNPU_CHIP``, ``DRYNPU_DEVICES`` and so on.

        Empty counts as unset. For a bad value the default serves, and a line on stderr says so once: a setting of a
        profiler must not end a training.
        """
        values, problems = _read(environ)
        for problem in problems:
            say_once(f"{problem} The default is used instead.")
        return cls(**values, notices=_misspelt(environ))

    @classmethod
    def checked(cls, environ: Mapping[str, str]) -> Settings:
        """
        Read the same variables for a command, which refuses to start with a bad value.

        Raises
        ------
        OptionError
            With one line per bad value.
        """
        values, problems = _read(environ)
        if problems:
            raise OptionError(problems)
        return cls(**values, notices=_misspelt(environ))


def _read(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the values that are set, and one line for each that is bad."""
    values: dict[str, Any] = {}
    problems = []
    for name, read in _READERS.items():
        text = environ.get(_PREFIX + name, "").strip()
        if not text:
            continue
        try:
            values[name.lower()] = read(text)
        except Refused as refused:
            problems.append(refused.line(_PREFIX + name))
    return values, problems


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text, re.ASCII) or not low <= int(text) <= high:
            raise Refused(text, f"an integer from {low} to {high}")
        return int(text)

    return read


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refused(text, "a finite number")
    return number


def _flag(text: str) -> bool:
    if text.casefold() in _TRUE:
        return True
    if text.casefold() in _FALSE:
        return False
    raise Refused(text, ", ".join((*_TRUE, *_FALSE)), (*_TRUE, *_FALSE))


def _either(words: Sequence[str]) -> str:
    """Return the words with commas between them, and "or" before the last."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _clock(text: str) -> Clock:
    words = [mode.value for mode in Clock]
    if text.casefold() not in words:
        raise Refused(text, _either(words), words)
    return Clock(text.casefold())


def _device(text: str) -> TorchDevice:
    words = [kind.value for kind in TorchDevice]
    if text.casefold() not in words:
        raise Refused(text, _either(words), words)
    return TorchDevice(text.casefold())


_READERS: Mapping[str, Callable[[str], Any]] = {
    "CHIP": str,
    "TOPOLOGY": str,
    "DEVICES": _integer(0, _MAX_DEVICES),
    "CLOCK": _clock,
    "SEED": _integer(0, _MAX_SEED),
    "STRICT": _flag,
    "QUIET": _flag,
    "REPORT_DEVICE": _flag,
    "DEVICE": _device,
    "BUILD": _flag,
    "COMPUTE": _flag,
    "VALUES": _finite,
    "COMPUTED_BYTES": _integer(0, _MAX_BYTES),
}


def _misspelt(environ: Mapping[str, str]) -> tuple[Notice, ...]:
    known = [*_READERS, *_ELSEWHERE]
    notices = []
    for name in sorted(environ):
        word = name.upper().removeprefix(_PREFIX)
        if name.upper() == word or (word in known and name == _PREFIX + word):
            continue
        hint = did_you_mean(word, known).replace("'", f"'{_PREFIX}", 1)
        if hint:
            message = f"{name} is not a setting of drynpu and has no effect.{hint}"
            notices.append(Notice(Severity.WARNING, name, message, NoticeCode.MISSPELT))
    return tuple(notices)
