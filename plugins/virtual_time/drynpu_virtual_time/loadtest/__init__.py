"""Serving engines on virtual time: ``drynpu loadtest``."""
