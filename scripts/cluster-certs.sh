#!/usr/bin/env bash
# Makes certificates for a cluster (docs/cluster.md): an authority in FOLDER/authority, and for each host
# a folder FOLDER/HOST with ca.pem, cert.pem and key.pem, for --tls of its scheduler or executor, or for
# TXGRAPH_CLUSTER_TLS of its driver. Each of these folders is enough to use the cluster. Copy to each
# host its own only, and keep FOLDER/authority: it signs certificates of later hosts.
#
#   scripts/cluster-certs.sh FOLDER HOST…
#   DAYS=30 scripts/cluster-certs.sh FOLDER HOST…    default: 825
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: scripts/cluster-certs.sh FOLDER HOST…"
need openssl openssl
umask 077
case $1 in
    /*) folder=$1 ;;
    *) folder=$caller/$1 ;;
esac
shift
authority=$folder/authority
curve=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
mkdir -p "$authority"
if [ ! -e "$authority/ca.pem" ]; then
    openssl req -x509 "${curve[@]}" -keyout "$authority/ca-key.pem" -out "$authority/ca.pem" -days 3650 \
        -subj "/CN=txgraph cluster" -addext basicConstraints=critical,CA:TRUE \
        -addext keyUsage=critical,keyCertSign 2>/dev/null
fi
for host in "$@"; do
    mkdir -p "$folder/$host"
    openssl req "${curve[@]}" -keyout "$folder/$host/key.pem" -subj "/CN=$host" 2>/dev/null |
        openssl x509 -req -CA "$authority/ca.pem" -CAkey "$authority/ca-key.pem" -days "${DAYS:-825}" \
            -extfile <(echo "subjectAltName=DNS:txgraph.cluster") -out "$folder/$host/cert.pem" 2>/dev/null
    cp "$authority/ca.pem" "$folder/$host/ca.pem"
    say "$folder/$host"
done
