"""Examining machines: symbols and structures of the kernel, saved states, the stub between GDB and
a machine, QEMU's information about a CPU that hangs, a picture of memory. Builds on `run`."""
