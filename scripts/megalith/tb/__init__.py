"""A model of the Alpha chips' translation buffers, run inside the emulator
(docs/translation-buffer.md)."""
