"""``drynpu dashboard`` and ``drynpu report``."""
