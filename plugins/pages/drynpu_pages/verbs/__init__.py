"""``drynpu dashboard``, ``drynpu report`` and ``drynpu whatif``."""
