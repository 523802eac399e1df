"""One clock for a script and the simulated device: ``drynpu run --time virtual``."""
