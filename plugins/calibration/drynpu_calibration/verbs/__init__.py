"""The verbs of the plugin: ``drynpu validate`` and ``drynpu calibrate``."""
