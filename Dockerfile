# syntax=docker/dockerfile:1
# txgraph in a small image, run as an ordinary user.
#
#   docker build -t txgraph .
#   DATA=~/.local/share/reth/mainnet
#   docker run --rm --pid=host --user "$(stat -c %u:%g "$DATA/db/mdbx.lck")" \
#       -v "$DATA":/data:ro -v "$DATA/db/mdbx.lck":/data/db/mdbx.lck \
#       txgraph info
#
# The data directory is mounted read-only. Only the lock file is writable, because every
# MDBX reader registers in it. `--pid=host` is needed next to a running node: MDBX
# identifies readers by process id, and both processes must see the same ids.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build \
    CARGO_TARGET_DIR=/build cargo build --release --locked -p txgraph-cli \
    && install -D /build/release/txgraph /out/txgraph

FROM debian:bookworm-slim
# `dot` draws SVG and PNG; everything else works without it.
RUN apt-get update \
    && apt-get install -y --no-install-recommends graphviz \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 txgraph
COPY --from=build /out/txgraph /usr/local/bin/txgraph
USER txgraph
ENV TXGRAPH_DATADIR=/data
WORKDIR /home/txgraph
ENTRYPOINT ["txgraph"]
CMD ["--help"]
