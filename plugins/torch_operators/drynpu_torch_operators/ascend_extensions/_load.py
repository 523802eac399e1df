"""What ``torch.utils.cpp_extension.load`` does where the sources may need what only a machine with CANN has."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from drynpu import CaptureError
from drynpu_torch_operators.ascend_extensions._functions import find_function

_HEADERS: Final = re.compile(
    r'^\s*#\s*include\s*[<"][^>"]*(?:torch_npu/|\bacl/|aclnn|\batb/|third_party/acl/|hccl/)', re.MULTILINE
)
"""What an include line of CANN, the boost library or torch_npu has in it."""
_BINDINGS: Final = re.compile(r'\bm\.def\(\s*"(\w+)"')
"""How a source of pybind11 states the name of a function."""
_LIBRARIES: Final = re.compile(r"-l(?:ascendcl|torch_npu|hccl|atb|opapi|nnopbase)$")


def load(
    compile_sources: Callable[..., Any], name: str, sources: str | Sequence[str], *arguments: Any, **options: Any
) -> Any:
    """
    Return the module of an extension: drynpu's where the sources need the headers of the device, else compiled.

    Parameters
    ----------
    compile_sources:
        The function of PyTorch that compiles and loads.
    name, sources, arguments, options:
        Its arguments.
    """
    paths = [sources] if isinstance(sources, str) else list(sources)
    texts = [Path(path).read_text(encoding="utf-8", errors="replace") for path in paths if Path(path).is_file()]
    if any(_HEADERS.search(text) for text in texts):
        return _serve(name, sorted({bound for text in texts for bound in _BINDINGS.findall(text)}))
    bound = inspect.signature(compile_sources).bind(name, sources, *arguments, **options)
    flags = bound.arguments.get("extra_ldflags") or ()
    # Sources without the device's headers need none of its libraries.
    bound.arguments["extra_ldflags"] = [flag for flag in flags if not _LIBRARIES.search(flag)]
    return compile_sources(*bound.args, **bound.kwargs)


def _serve(name: str, bindings: Sequence[str]) -> ModuleType:
    module = ModuleType(name, f"The extension {name!r}, served by drynpu because CANN's headers are not here.")
    missing = []
    for binding in bindings:
        function = find_function(binding)
        if function is None:
            missing.append(binding)
        setattr(module, binding, function or _refusal(name, binding))
    if missing or not bindings:
        names = ", ".join(missing) or "none that could be read from its sources"
        logging.getLogger("drynpu").warning("drynpu does not provide these functions of extension %r: %s", name, names)
    return module


def _refusal(extension: str, function: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object, **options: object) -> NoReturn:
        del arguments, options
        raise CaptureError(
            f"{function} of the extension {extension!r} is compiled against CANN's headers, and drynpu does not "
            "provide it; switch off the option of the package that uses it"
        )

    return refuse
