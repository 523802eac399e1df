"""
The TensorFlow adapter: what sessions, functions and eager code ran, their kernels, and the profile they leave.

Importing this package imports neither TensorFlow nor any of its rooms.
"""
