"""Monitors that hand kernels, collectives and marks to the script (mspti), and marks outside of PyTorch (mstx)."""
