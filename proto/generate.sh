#!/usr/bin/env bash
# Generates the Python stubs and a descriptor image: generate.sh PYTHON STUBS_DIR IMAGE
# PYTHON has proto/requirements.txt installed; IMAGE holds our files and everything they import.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=$1 stubs=$2 image=$3
google=$("$python" -c 'import os, google.rpc; print(os.path.dirname(os.path.dirname(list(google.rpc.__path__)[0])))')
"$python" -m grpc_tools.protoc -I. -I"$google" \
    --python_out="$stubs" --pyi_out="$stubs" --grpc_python_out="$stubs" \
    --include_imports --descriptor_set_out="$image" tokenwire/v1/*.proto
