"""Media processing: the module is there, as in the vendor's package, and drynpu has none of its functions."""

from __future__ import annotations
