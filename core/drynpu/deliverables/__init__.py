"""
What a recording leaves, one folder for each group of records.

A folder holds what its group has: ``facts.py`` (its kinds of record, layers, database tables), ``records.py`` (a
simulation becomes raw records), ``tables.py`` (raw records become tables), ``files.py`` (tables become csv files,
layers of the timeline and rows of a database) and, where there are many of these rows, ``db.py``. All may import
facts, and ``drynpu.layouts``, where facts stand that other rooms need, too; records know no tables and files, tables no
records and files. ``registry.py`` finds the folders and builds a `RecordGroup` of each.
"""

from __future__ import annotations
