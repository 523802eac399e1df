"""The lines of the user's script, for everything that the check of a PyTorch script notes."""

from __future__ import annotations

from typing import Final

import drynpu_torch
from drynpu.checks import Places

PLACES: Final = Places.beside(drynpu_torch)
