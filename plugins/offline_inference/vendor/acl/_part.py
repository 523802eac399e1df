"""What ``acl`` gets from the plugin: images."""

from __future__ import annotations

from acl import media

__all__ = ["media"]
