"""make bench: what is run (calls, cases), what comes of it (figures), plots and the page. Builds on
`run` and `debug`."""
