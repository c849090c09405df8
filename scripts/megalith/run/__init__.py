"""Starting machines: the emulator with its serial lines and monitor, the contents of the initrd, a
run from its start to its exit status, recordings of runs. Imports none of the other packages."""
