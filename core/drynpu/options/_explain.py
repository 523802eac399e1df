"""What a parsed document amounts to, option by option."""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu.options._deliverables import deliverables
from drynpu.options._footprint import KERNEL, OPERATOR, estimate_footprint
from drynpu.options._notices import Origin
from drynpu.options._request import Parsed, leaf_values
from drynpu.options._values import CustomEvents

__all__ = ["Explanation", "explain"]


@frozen(kw_only=True)
class Explanation:
    """
    One option.

    Attributes
    ----------
    path:
        Where it stands in the neutral model, e.g. ``switches.l2_cache``.
    option:
        Its name in the dialect of the document; the path where the dialect has no such option.
    value:
        Effective value as readable text, in neutral words.
    origin:
        Where that value came from.
    files:
        Deliverables that exist because of it.
    bytes_per_kernel, bytes_per_operator:
        Its share of the estimate of `estimate_footprint`.
    """

    path: str
    option: str
    value: str
    origin: Origin
    files: tuple[str, ...]
    bytes_per_kernel: float
    bytes_per_operator: float


def explain(parsed: Parsed) -> tuple[Explanation, ...]:
    """
    Explain every option of *parsed*, in the order of the model: effective value, origin, files, raw bytes.

    Files are those of cann_msprof.md 3, or of torch_npu_profiler.md 3.6 for ``experimental_config``.
    """
    footprint = estimate_footprint(parsed.request)
    torch = parsed.dialect == "experimental_config"
    return tuple(
        Explanation(
            path=path,
            option=parsed.spellings.get(path, path),
            value=_readable(value),
            origin=parsed.origins[path],
            files=deliverables(parsed.request, path, torch=torch),
            bytes_per_kernel=footprint.of_option(path, KERNEL),
            bytes_per_operator=footprint.of_option(path, OPERATOR),
        )
        for path, value in leaf_values(parsed.request).items()
    )


def _readable(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, CustomEvents):
        return value.text
    if isinstance(value, tuple):
        return ", ".join(_readable(item) for item in value) or "none"
    return str(value) if value != "" else "none"
