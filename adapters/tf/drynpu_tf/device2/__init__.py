"""
Devices of TensorFlow 2 (``npu_device``): options, opening, and recording of functions, Keras and eager code.

What scripts call is in :mod:`drynpu_tf.device2.api`; it computes on the CPU, as TensorFlow does.
"""
