"""The generated stubs of `tokenwire.v1`, the only copy."""
