"""Media processing of the second generation: the module is there, as in the vendor's package, without functions."""

from __future__ import annotations
