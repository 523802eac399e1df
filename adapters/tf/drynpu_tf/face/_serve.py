"""``tensorflow`` in its v1 face: what a TensorFlow 1 script gets from ``import tensorflow``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from drynpu import needs_plugin, say
from drynpu_tf.face._moved import restore_names
from drynpu_tf.face._recognise import CONTRIB, only_in_v1

TF1_VARIABLE = "DRYNPU_TF1"
"""Set by ``drynpu run --tf1`` (1) and ``--no-tf1`` (0); not set, the text of the script decides."""

_SHOWN = 3
"""Names from the script that the message quotes: enough to see why, short enough for a line."""


def serve_script(script: Path, environment: Mapping[str, str]) -> None:
    """Serve the v1 face to a script that ``drynpu run`` starts, if the user or the text of the script says so."""
    word = environment.get(TF1_VARIABLE, "")
    if word == "0":
        return
    names = only_in_v1(_text(script)) if not word else ()
    if not word and not names:
        return
    serve_v1()
    why = f"uses {', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}" if names else "--tf1"
    say(f"{script.name} gets tensorflow in its v1 face ({why}); --no-tf1 turns that off.")


def serve_v1() -> None:
    """
    Let ``import tensorflow`` give TensorFlow's v1 names, without eager execution, in this process.

    Modules of the public names (``tensorflow.train``) come from v1; a name that v1 lacks is taken from v2. Modules
    of ``tensorflow.python`` stay what they are, and have the names again that were moved elsewhere.
    """
    import tensorflow as whole  # noqa: ICN001 - this is about the module
    import tensorflow.compat.v1 as v1

    from drynpu_tf.quiet import without_deprecations

    if isinstance(whole, _Face):
        return
    with without_deprecations():
        v1.disable_v2_behavior()
    restore_names()
    sys.modules["tensorflow"] = _Face(whole, v1)
    sys.meta_path.append(_AbsentContrib())


def is_served() -> bool:
    """Return whether ``import tensorflow`` gives the v1 face in this process."""
    return isinstance(sys.modules.get("tensorflow"), _Face)


def tensorflow_1() -> ModuleType:
    """Return the module with TensorFlow's v1 names: ``tensorflow`` itself where that is its face."""
    import tensorflow as served  # noqa: ICN001 - this is about the module
    import tensorflow.compat.v1 as v1

    return served if isinstance(served, _Face) else v1


class _Face(ModuleType):
    """The module ``tensorflow``: v1 names first, then names of the module that it stands for."""

    def __init__(self, whole: ModuleType, v1: ModuleType) -> None:
        super().__init__("tensorflow", v1.__doc__)
        self.__dict__.update(
            # First where `from tensorflow.train import AdamOptimizer` finds the names of v1.
            __path__=[*v1.__path__, *whole.__path__],
            __file__=whole.__file__,
            __spec__=whole.__spec__,
            __version__=v1.__version__,
            _whole=whole,
            _v1=v1,
        )

    def __getattr__(self, name: str) -> Any:
        if name == "contrib":
            return importlib.import_module(CONTRIB)
        try:
            return getattr(self.__dict__["_v1"], name)
        except AttributeError:
            return getattr(self.__dict__["_whole"], name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.__dict__["_v1"]), *dir(self.__dict__["_whole"])})


class _AbsentContrib(MetaPathFinder):
    """Says what ``tensorflow.contrib`` needs where nobody before it has found that."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise ModuleNotFoundError for the modules of contrib."""
        del path, target
        if f"{fullname}.".startswith(f"{CONTRIB}."):
            raise ModuleNotFoundError(needs_plugin(CONTRIB, "tf1_contrib"), name=fullname)


def _text(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
