"""The facade of ``mspti.monitor``."""
