"""Looking into machines: the kernel's symbols and structures, saved states, the stub between GDB
and a machine, what QEMU tells of a CPU that is stuck, a picture of memory. Builds on `run`."""
