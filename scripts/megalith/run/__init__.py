"""Starting machines: the emulator with its serial lines and monitor, what goes into the initrd,
one run from its start to its exit status, recordings of runs. Imports nothing of the other
packages."""
