"""Code that several test files share: running guests, TAP, models and records."""
