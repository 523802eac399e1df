"""The verbs of the plugin: ``drynpu cluster`` and ``drynpu synth``."""
