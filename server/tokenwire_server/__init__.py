"""Tokenwire's server: pinned tokenizers behind gRPC, with limits, health and metrics. Start at `app.py`."""
