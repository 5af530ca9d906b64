#!/usr/bin/env bash
# Builds and tests on each supported Python found, one environment each; names the versions that are not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tested=0
for version in 3.11 3.12 3.13; do
    python=$(command -v "python$version" || true)
    if [ -z "$python" ] || ! "$python" -c '' 2>/dev/null; then
        # pyenv keeps the interpreters that are not the current one out of PATH
        python=$(find "${PYENV_ROOT:-$HOME/.pyenv}/versions" -path "*/bin/python$version" 2>/dev/null | sort | tail -1)
    fi
    if [ -z "$python" ]; then
        echo "=== Python $version is not installed: not tested"
        continue
    fi
    echo "=== Python $version"
    make --no-print-directory PYTHON="$python" VENV=".venv-$version" test
    tested=$((tested + 1))
done
[ "$tested" -gt 0 ] || { echo "none of the supported Pythons was found" >&2; exit 1; }
