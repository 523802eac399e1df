"""What packages import to say how their operators become operators of the graph engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NoReturn

from attrs import frozen

_CONVERTERS: Final = "_drynpu_converter"


class GraphTensor:
    """The type of a value in a graph of the engine; there are none, because no graph is converted."""

    def __init__(self, *arguments: object, **options: object) -> None:
        del arguments, options
        in_a_graph_alone("Tensor")


class Scope:
    """A block whose operators have attributes in the graph; operators that run one by one have none."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.attributes = (arguments, options)

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def converter_of(operator: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that notes a converter on itself; nothing calls it, because no graph is converted."""

    def register(converter: Callable[..., Any]) -> Callable[..., Any]:
        setattr(converter, _CONVERTERS, operator)
        return converter

    return register


def patch_nothing(*arguments: object, **options: object) -> None:
    """Do nothing: what is patched or declared concerns conversion alone."""
    del arguments, options


def in_a_graph_alone(name: str) -> NoReturn:
    """
    Refuse what makes a node of the engine's graph.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        f"torchair.ge.{name} makes a node of the graph engine's graph, but drynpu converts no graph: operators run one "
        "by one, by their implementation for the npu or for all devices"
    )


@frozen
class Attribute:
    """An attribute of a node, as a converter states it."""

    kind: str
    value: Any


def attribute_of(kind: str) -> Callable[[Any], Attribute]:
    """Return the constructor of attributes of one *kind*."""
    return functools.partial(Attribute, kind)
