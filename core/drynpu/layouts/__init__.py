"""
Facts of record groups that several rooms need: the layouts of their records, and the numbers and words in them.

A module has the name of the group in ``drynpu.deliverables`` whose records it describes. What only that group needs
stands in the ``facts.py`` of its folder.
"""

from __future__ import annotations
