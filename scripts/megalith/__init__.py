"""The host's side of Megalith: starting emulators, talking to the kernel, showing what it did."""
