#!/usr/bin/env bash
# Installs what the system tests run (Debian packages); does nothing where it is there. Missing tools fail, never skip.
set -euo pipefail
missing=()
for tool in valgrind prometheus chromium; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
command -v apt-get >/dev/null || { echo "install these and run again: ${missing[*]}" >&2; exit 1; }
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}"
