"""
What a recording leaves, one folder for each group of records.

A folder may hold ``records.py`` (a simulation becomes raw records), ``tables.py`` (raw records become tables),
``files.py`` (tables become csv files and layers of the timeline) and ``db.py`` (tables become rows of a database).
"""

from __future__ import annotations
