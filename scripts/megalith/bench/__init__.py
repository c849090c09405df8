"""make bench: the runs (calls, cases), the evaluation (figures), plots and the page. Builds on
`run`, `debug` and `verify`."""
