"""
Nodes of ONNX graphs that ONNX's reference evaluator does not run as a device does.

Importing this package imports nothing.
"""
