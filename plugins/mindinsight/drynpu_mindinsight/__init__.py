"""
The text files that MindInsight 2.3.1 reads (mindinsight_dashboard.md 3 to 7 and 10): `export` writes them.

Importing this package imports nothing.
"""
