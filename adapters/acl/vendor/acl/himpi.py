"""Media processing of the second generation: the module is there, as in the vendor's package, without functions."""

from __future__ import annotations

from drynpu_acl.binding import refuse_names as _refuse_names

__getattr__ = _refuse_names("acl.himpi", "the units for images and video")
