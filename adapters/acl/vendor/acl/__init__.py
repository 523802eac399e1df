"""
The facade of ``acl`` (pyACL): the vendor's names, answered by drynpu.

A genuine acl anywhere on the path takes this package's place before anything else runs.
"""

from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    import typing as _typing

    from acl._facade import *
    from acl._facade import __getattr__  # noqa: F401
    from acl._facade import parts as _parts

    globals().update(_parts)
    if _typing.TYPE_CHECKING:  # a plugin adds it when the facade is imported
        from acl import media as media
