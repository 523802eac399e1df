"""What a parsed document amounts to, option by option."""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu.options import CustomEvents, Origin, Parsed, files_of_option, leaf_values, unsimulated_of_option
from drynpu_script_check._footprint import KERNEL, OPERATOR, SECOND, STEP, estimate_footprint


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
    only_on_device:
        Files, and layers of the timeline, that a simulated device does not leave: ``file: why``.
    bytes_per_kernel, bytes_per_operator, bytes_per_step, bytes_per_second:
        Its share of the estimate of `estimate_footprint`.
    """

    path: str
    option: str
    value: str
    origin: Origin
    files: tuple[str, ...]
    only_on_device: tuple[str, ...]
    bytes_per_kernel: float
    bytes_per_operator: float
    bytes_per_step: float
    """Beside its kernels and operators."""
    bytes_per_second: float


def explain(parsed: Parsed, *, chip: str | None = None) -> tuple[Explanation, ...]:
    """
    Explain every option of *parsed*, in the order of the model: effective value, origin, files, raw bytes.

    Files come from cann_msprof.md 3, or of torch_npu_profiler.md 3.6 for ``experimental_config``; with *chip*
    (platform version, series or SoC name) only those that the chip has. Raises `OptionError` for an unknown chip.
    """
    footprint = estimate_footprint(parsed.request, "5" if chip is None else chip)
    torch = parsed.dialect == "experimental_config"
    return tuple(
        Explanation(
            path=path,
            option=parsed.spellings.get(path, path),
            value=_readable(value),
            origin=parsed.origins[path],
            files=files_of_option(parsed.request, path, torch=torch, chip=chip),
            only_on_device=tuple(
                f"{title}: {why}"
                for title, why in unsimulated_of_option(parsed.request, path, torch=torch, chip=chip).items()
            ),
            bytes_per_kernel=footprint.of_option(path, KERNEL),
            bytes_per_operator=footprint.of_option(path, OPERATOR),
            bytes_per_step=footprint.of_option(path, STEP),
            bytes_per_second=footprint.of_option(path, SECOND),
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
