"""Sockets of ZeroMQ whose messages come on the virtual clock: a backend of pyzmq."""
