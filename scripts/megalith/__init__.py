"""The host tools of Megalith: they start emulators, communicate with the kernel, and evaluate
runs."""
