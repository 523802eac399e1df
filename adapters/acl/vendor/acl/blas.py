"""Matrix products: the module is there, as in the vendor's package, and drynpu has none of its functions."""

from __future__ import annotations

from drynpu_acl.binding import refuse_names as _refuse_names

__getattr__ = _refuse_names("acl.blas", "matrix products by themselves")
