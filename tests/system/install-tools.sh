#!/usr/bin/env bash
# Installs what the system tests run, or the tools that are named (Debian packages); does nothing where they are there.
# Missing tools fail, never skip.
set -euo pipefail
missing=()
[ $# -gt 0 ] || set -- valgrind prometheus chromium
for tool; do
    command -v "$tool" >/dev/null && continue
    case "$tool" in
        aarch64-linux-gnu-gcc) missing+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross) ;;
        *) missing+=("$tool") ;;
    esac
done
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
command -v apt-get >/dev/null || { echo "install these and run again: ${missing[*]}" >&2; exit 1; }
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}"
