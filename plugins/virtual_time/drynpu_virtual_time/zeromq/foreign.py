"""Objects of pyzmq's and of the scripts that call it, which have no types here."""

from __future__ import annotations

from typing import Any, TypeAlias

Foreign: TypeAlias = Any
"""A socket, a context or a frame of pyzmq's, the value of an option, data that is sent."""
