# syntax=docker/dockerfile:1
# txgraph in a small image, run as an ordinary user.
#
#   docker build -t txgraph .
#   docker build -t txgraph-cluster --target txgraph-cluster .    for configs/cluster-compose.yaml
#
#   DATA=~/.local/share/reth/mainnet
#   docker run --rm --pid=host --user "$(stat -c %u:%g "$DATA/db/mdbx.lck")" \
#       -v "$DATA":/data:ro -v "$DATA/db/mdbx.lck":/data/db/mdbx.lck \
#       txgraph info
#
# The data directory is mounted read-only. Only the lock file is writable, because every
# MDBX reader registers in it. `--pid=host` is needed next to a running node: MDBX
# identifies readers by process id, and both processes must see the same ids.

FROM rust:1.95-bookworm AS build
# The commit, for `txgraph --version`: the history is not copied.
ARG COMMIT=unknown
ENV TXGRAPH_COMMIT=$COMMIT CARGO_TARGET_DIR=/build
WORKDIR /src
COPY . .

FROM build AS build-txgraph
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build \
    cargo build --release --locked -p txgraph-cli --features s3 \
    && install -D -t /out /build/release/txgraph

FROM build AS build-cluster
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build \
    cargo build --release --locked -p txgraph-distributed --features s3 \
    && install -D -t /out /build/release/txgraph-cluster /build/release/txgraph-executor \
        /build/release/txgraph-scheduler

FROM debian:bookworm-slim AS base
# `dot` draws SVG and PNG; everything else works without it.
RUN apt-get update \
    && apt-get install -y --no-install-recommends graphviz \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 txgraph
USER txgraph
WORKDIR /home/txgraph

FROM base AS txgraph-cluster
COPY --from=build-cluster /out/ /usr/local/bin/

# The last target is the default.
FROM base AS txgraph
COPY --from=build-txgraph /out/ /usr/local/bin/
ENV TXGRAPH_DATADIR=/data
ENTRYPOINT ["txgraph"]
CMD ["--help"]
