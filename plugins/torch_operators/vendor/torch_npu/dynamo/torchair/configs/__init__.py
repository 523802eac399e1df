"""The facade of ``torchair.configs``."""
