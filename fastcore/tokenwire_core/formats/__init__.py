"""Readers of artifact formats: bytes to a `TokenizerSpec`, one module per format."""
