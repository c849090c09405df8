"""What several files of tests share: running guests, TAP, models and records."""
