#!/usr/bin/env bash
# Tests lakes in buckets with a server that has the HTTP interface of S3: moto, from PyPI. Builds,
# appends, compacts and reads a lake, kills writers, and causes faults: no bucket, refused
# credentials, a server that does not answer, missing, truncated and changed objects.
#
#   scripts/lake-s3.sh
#   TXGRAPH_KILLS=100 scripts/lake-s3.sh
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || die "usage: scripts/lake-s3.sh"
need_build
venv=$CARGO_TARGET_DIR/lake-s3-venv
need_venv "$venv" 'moto[s3,server]==5.2.5'
say "building the tests"
# With the benchmark, as build_tested.
wanted=("${tested[@]}" --lib --test it --bin txgraph-bench)
cargo test "${wanted[@]}" --no-run

port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
log=$(mktemp)
"$venv/bin/moto_server" -H 127.0.0.1 -p "$port" >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$log"' EXIT
export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test

# request METHOD PATH [BODY]
request() {
    "$venv/bin/python" - "$AWS_ENDPOINT_URL/$2" "$1" "${3:-}" <<'PYTHON'
import sys, urllib.request
url, method, body = sys.argv[1:]
headers = {"Content-Type": "text/plain"}
urllib.request.urlopen(urllib.request.Request(url, body.encode() or None, headers, method=method))
PYTHON
}
for _ in $(seq 50); do
    if request GET moto-api/ 2>/dev/null; then break; fi
    kill -0 "$server" 2>/dev/null || { cat "$log" >&2; die "the server did not start"; }
    sleep 0.2
done
request PUT lake-test
export TXGRAPH_S3_BUCKET=lake-test
say "lakes in a bucket"
cargo test "${wanted[@]}" -- bucket:: s3::
say "refused credentials"
request POST moto-api/reset-auth 0
TXGRAPH_S3_REFUSES=1 cargo test "${wanted[@]}" -- s3::refused
