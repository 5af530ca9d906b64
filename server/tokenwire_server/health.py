"""Health and reflection: the standard services, answered from the catalogue's state.

`""` and the service's name are SERVING once every configured tokenizer is proven, `tokenizer/<name>` once
that one is, so a client can wait for the one it needs. Draining makes all of them NOT_SERVING at once, for
good.
"""

from __future__ import annotations

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tokenwire_server.catalogue import Catalogue, State
from tokenwire_server.service import SERVICE_NAME

TOKENIZER_PREFIX = "tokenizer/"
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Health:
    """The health service of one server. To be used from its event loop alone."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._servicer = health.aio.HealthServicer()  # type: ignore[attr-defined]  # the stubs lack `aio`

    def add_to(self, server: grpc.aio.Server) -> None:
        """Register health and reflection on a server that has not started."""
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)
        reflection.enable_server_reflection(
            (SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server
        )

    async def publish(self) -> None:
        """Tell every watcher the state of the catalogue. After `drain` this changes nothing."""
        whole = _SERVING if self._catalogue.all_ready() else _NOT_SERVING
        for name in ("", SERVICE_NAME):
            await self._servicer.set(name, whole)
        for entry in self._catalogue.entries():
            status = _SERVING if entry.state is State.READY else _NOT_SERVING
            await self._servicer.set(TOKENIZER_PREFIX + entry.config.name, status)

    async def drain(self) -> None:
        """From now on NOT_SERVING, whatever happens."""
        await self._servicer.enter_graceful_shutdown()
