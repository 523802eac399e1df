"""``tf.contrib.training.HParams``: hyperparameters with types, set from keywords, texts, dictionaries and JSON."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w\.]*)(?P<index>\[\s*\d+\s*\])?\s*=\s*((?P<value>[^,\[]*)|\[(?P<list>[^\]]*)\])($|,)"
)

_TRUTHS = {"true": True, "True": True, "false": False, "False": False}


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """
    Read ``name=value`` pairs that commas separate; ``name=[1,2]`` is a list, ``name[1]=2`` one element of a list.

    Returns
    -------
    dict[str, Any]
        A value, a list or, for elements, a dictionary by index, for each name.

    Raises
    ------
    ValueError
        The text has another form, a name is not in *type_map* (unless *ignore_unknown*), a name comes twice, or a value
        is not of the name's type.
    """
    parsed: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        _enter(parsed, match, type_map[name], values)
    return parsed


def _enter(parsed: dict[str, Any], match: re.Match[str], kind: type, values: str) -> None:
    """Put one pair into the dictionary that is read."""
    name = match["name"]
    read = _reader(name, kind, values)
    if match["index"] is not None:
        index = int(match["index"][1:-1])
        elements = parsed.setdefault(name, {})
        if match["value"] is None or not isinstance(elements, dict) or index in elements:
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        elements[index] = read(match["value"])
    elif name in parsed:
        raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
    elif match["value"] is not None:
        parsed[name] = read(match["value"])
    else:
        parsed[name] = [read(part) for part in re.split("[ ,]", match["list"]) if part]


def _reader(name: str, kind: Callable[..., Any], values: str) -> Callable[[str], Any]:
    """Return the function that reads a value of one type, or says which value it cannot read."""

    def read(text: str) -> Any:
        try:
            if kind is bool:
                return _TRUTHS[text] if text in _TRUTHS else bool(int(text))
            return kind(text)
        except (TypeError, ValueError):
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in {values}"
            ) from None

    return read


def _cast(name: str, kind: type, value: object) -> Any:
    """Return *value* as *kind*, where TensorFlow 1.15 would: texts, truth values and whole numbers stay apart."""
    if issubclass(kind, type(None)):
        return value
    texts = issubclass(kind, (str, bytes)) and not isinstance(value, (str, bytes))
    truths = issubclass(kind, bool) != isinstance(value, bool)
    whole = issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral)
    number = issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number)
    if texts or truths or whole or number:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    convert: Callable[[Any], Any] = kind
    return convert(value)


class HParams:
    """
    Hyperparameters, each an attribute with the type of its first value.

    Parameters
    ----------
    hparam_def:
        Not served: TensorFlow 2 has no such protocol buffer. ``NotImplementedError`` if it is not ``None``.
    model_structure:
        Any object, kept for ``get_model_structure``.
    kwargs:
        Names and values. ``ValueError`` for an empty list, and for a name that an attribute has.
    """

    _hparam_types: dict[str, tuple[type, bool]]
    _model_structure: Any

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise NotImplementedError("HParams(hparam_def=...) is not there: give names and values as keywords.")
        self._hparam_types = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: object) -> None:
        """Add a hyperparameter; ``ValueError`` if the name is an attribute already, or the value an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a hyperparameter; ``KeyError`` if there is none, ``ValueError`` for a value of another kind."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            wanted = "Must pass a list for multi" if is_list else "Must not pass a list for single"
            raise ValueError(f"{wanted}-valued parameter: {name}")
        setattr(self, name, [_cast(name, kind, each) for each in value] if is_list else _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter; nothing happens if there is none."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Change hyperparameters by a text such as ``rate=0.1,sizes=[1,2]``, and return this object."""
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, object]) -> HParams:
        """Change hyperparameters by a dictionary, and return this object."""
        for name, value in values_dict.items():
            if isinstance(value, dict):
                elements = list(getattr(self, name))
                for index, element in value.items():
                    elements[index] = element
                self.set_hparam(name, elements)
            else:
                self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Change hyperparameters by a JSON object, and return this object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self, indent: int | None = None, separators: tuple[str, str] | None = None, sort_keys: bool = False
    ) -> str:
        """Return names and values as a JSON object, without functions."""
        plain = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return names and values."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or *default*, which ``ValueError`` refuses if it has another type than the hyperparameter."""
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None:
            if isinstance(default, list) != is_list:
                raise ValueError(f"Must {'' if is_list else 'not '}pass a list as the default of '{key}': {default!r}")
            for each in default if is_list else [default]:
                _cast(key, kind, each)
        return getattr(self, key)

    def set_model_structure(self, model_structure: object) -> None:
        """Keep an object for ``get_model_structure``."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return what was kept."""
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"
