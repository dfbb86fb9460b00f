#!/usr/bin/env bash
# Checks the page of `txgraph serve` in crates/serve/page: types, format, whether the committed bundle is that of
# the sources, tests without a browser, and tests in Chromium at a server on the small chain of testdata.
#
#   scripts/page.sh [PROGRAM]    asks PROGRAM, or TXGRAPH, or builds txgraph
#   scripts/page.sh bundle       writes the bundle, and nothing else
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
command -v npm >/dev/null 2>&1 || die "Node.js is missing: https://nodejs.org"
page=crates/serve/page

if ! cmp -s $page/package-lock.json $page/node_modules/.wanted; then
    say "installing the packages of the page"
    (cd $page && npm ci --no-audit --no-fund --silent) >&2
    cp $page/package-lock.json $page/node_modules/.wanted
fi
if [ "${1:-}" = bundle ]; then
    (cd $page && node build.mjs)
    exit
fi
need_txgraph "${1:-}"
# Chromium, or a browser of its kind. CHROMIUM names another one.
browser=${CHROMIUM:-$(command -v chromium google-chrome || true)}
if [ -z "$browser" ]; then
    need chromium chromium
    browser=$(command -v chromium)
fi
browser=$(head -1 <<<"$browser")
make_scratch

say "types, format, bundle, tests without a browser"
(cd $page && node_modules/.bin/tsc -p . && node_modules/.bin/prettier --check --log-level warn . &&
    node build.mjs "$scratch/dist")
diff -rq $page/dist "$scratch/dist" >&2 || die "the bundle is not that of the sources: scripts/page.sh bundle"
(cd $page && node test/run.mjs unit)

printf 'address,symbol,decimals\n0xd601451207128971898aab8654521699f35222e2,USD6,6\n' >"$scratch/tokens.csv"
serve_chain testdata/small/v2 --labels docs/images/mixer-labels.csv --token-list "$scratch/tokens.csv"
"$txgraph" graph -q --datadir "$scratch/node" --root 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops 3 \
    --token-list "$scratch/tokens.csv" -o "$scratch/picture.html"
say "a browser at $url"
(cd $page && CHROMIUM=$browser TXGRAPH_PAGE_URL=$url TXGRAPH_PICTURE=$scratch/picture.html node test/run.mjs browser)
