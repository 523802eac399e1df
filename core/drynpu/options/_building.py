"""Building a `ProfilingRequest` from mappings, JSON and YAML, and turning it back into a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cattrs import BaseValidationError, Converter

from drynpu._errors import OptionError
from drynpu.options._converter import build_converter
from drynpu.options._documents import load_json, load_yaml
from drynpu.options._notices import Origin
from drynpu.options._problems import Refused, join_path, problem_lines
from drynpu.options._request import Filters, Output, Parsed, ProfilingRequest, Sampling, Switches, Window
from drynpu.options._schedule import Schedule

_SECTIONS: dict[str, type] = {
    "switches": Switches,
    "filters": Filters,
    "sampling": Sampling,
    "window": Window,
    "output": Output,
}


@cache
def _converter() -> Converter:
    return build_converter({Schedule: "schedule", **{kind: section for section, kind in _SECTIONS.items()}})


def from_mapping(data: Mapping[str, object], where: str = "") -> ProfilingRequest:
    """
    Build a request from a neutral document.

    Parameters
    ----------
    data:
        Nested mapping with the field names of `ProfilingRequest` and its sections; enums by their values.
    where:
        Path put before the path of every problem, e.g. a file name.

    Raises
    ------
    OptionError
        With one line for every unknown key, wrong type and out-of-range value of the whole document.
    """
    try:
        return _converter().structure(data, ProfilingRequest)
    except (BaseValidationError, Refused, OptionError) as error:
        raise OptionError(list(problem_lines(error, where or "", where or ""))) from error


def from_json(text: str | bytes, where: str = "") -> ProfilingRequest:
    """Build a request from neutral JSON text. Raises `OptionError`."""
    return from_mapping(load_json(text, where), where)


def from_yaml(text: str | bytes, where: str = "") -> ProfilingRequest:
    """Build a request from neutral YAML text; an empty text is a request of defaults. Raises `OptionError`."""
    data = load_yaml(text, where)
    return from_mapping({} if data is None else data, where)


def to_mapping(request: ProfilingRequest) -> dict[str, Any]:
    """
    Return the neutral document of *request*: plain dicts, lists, texts, numbers; nothing left out.

    ``from_mapping(to_mapping(request)) == request`` for every request.
    """
    plain = _plain(_converter().unstructure(request, ProfilingRequest))
    assert isinstance(plain, dict)
    return plain


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def parse_request(data: Mapping[str, object], where: str = "") -> Parsed:
    """Read a neutral document as a dialect does, with the origin of every value. Raises `OptionError`."""
    request = from_mapping(data, where)
    origins = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            origins.update({join_path(name, inner): Origin.GIVEN for inner in value})
        else:
            origins[name] = Origin.GIVEN
    return Parsed.build(request, dialect="request", origins=origins, effective=to_mapping(request))
