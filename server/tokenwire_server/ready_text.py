"""The ready text: how to call a service that has just become ready, in lines to paste into a shell."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping

from tokenwire_server.config import Config

_TEXT = "Hello, world!"
_METHOD = "tokenwire.v1.TokenizerService/Count"


def ready_text(config: Config, addresses: Mapping[str, str], tokenizer: str) -> str:
    """Lines that count a text with `tokenizer` at the first of `addresses` (`tcp`, `unix`; `http` for metrics).

    Under TLS they name the files only the caller can have: `CA.pem`, and `CLIENT.pem` with `CLIENT.key`.
    """
    address = addresses.get("tcp", addresses.get("unix", ""))
    grpcurl_address = address.removeprefix("unix:")
    client, flags = json.dumps(address), ["-plaintext"]
    if "tcp" not in addresses:
        flags.append("-unix")
    elif config.tls is not None:
        files, flags = {"ca": "CA.pem"}, ["-cacert", "CA.pem"]
        if config.tls.client_ca is not None:
            files |= {"cert": "CLIENT.pem", "key": "CLIENT.key"}
            flags += ["-cert", "CLIENT.pem", "-key", "CLIENT.key"]
        arguments = ", ".join(f"{name}={json.dumps(file)}" for name, file in files.items())
        client += f", tls=tokenwire.Tls({arguments})"
    call = f"tokenwire.Client({client}).count({json.dumps(tokenizer)}, {json.dumps(_TEXT)})"
    request = json.dumps({"tokenizer": tokenizer, "inputs": [{"text": _TEXT}]})
    lines = [
        f"Tokenwire serves {address}. To call it:",
        "  " + shlex.join([sys.executable, "-c", f"import tokenwire; print({call})"]),
        "  " + shlex.join(["grpcurl", *flags, "-d", request, grpcurl_address, _METHOD]),
    ]
    if "http" in addresses:
        lines.append(f"  curl http://{addresses['http']}/metrics")
    return "\n".join(lines)
