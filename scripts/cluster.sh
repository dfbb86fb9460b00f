#!/usr/bin/env bash
# A cluster on this machine: a scheduler and executors on loopback (docs/cluster.md).
#
#   scripts/cluster.sh up [N]      build what is missing, start a scheduler and N executors (2)
#   scripts/cluster.sh status      which processes run
#   scripts/cluster.sh logs        the last lines of their logs
#   scripts/cluster.sh down        end them
#
# TXGRAPH_SOURCE or TXGRAPH_DATADIR names the source of the executors; without it they read lakes.
# TXGRAPH_CLUSTER_PORT is the port of the scheduler (15050). The state is in the build cache.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

profile=${TXGRAPH_CLUSTER_PROFILE:-release}
state=${TXGRAPH_CLUSTER_STATE:-$CARGO_TARGET_DIR/cluster-state}
port=${TXGRAPH_CLUSTER_PORT:-15050}
bin=$CARGO_TARGET_DIR/${profile/#dev/debug}

# alive NAME: whether the process with the recorded id is still the one that was started.
alive() {
    local id
    id=$(cat "$state/$1.pid" 2>/dev/null) || return 1
    [ "$(cat "/proc/$id/comm" 2>/dev/null)" = "$(cat "$state/$1.comm")" ]
}

# start NAME PROGRAM ARGUMENTS...
start() {
    local name=$1 program=$2
    shift 2
    alive "$name" && { say "$name runs already"; return; }
    setsid "$bin/$program" "$@" >"$state/$name.log" 2>&1 </dev/null &
    echo $! >"$state/$name.pid"
    # The kernel keeps 15 characters of a name.
    printf '%.15s\n' "$program" >"$state/$name.comm"
}

# executors: the number of executors that the scheduler knows.
executors() {
    curl -fsS --max-time 2 "http://127.0.0.1:$port/api/executors" 2>/dev/null |
        grep -o '"id"' | wc -l
}

up() {
    local count=${1:-2} i
    need_build
    need curl curl
    say "building the cluster (the first time takes 20 to 40 minutes on 2 cores)"
    cargo build --locked --profile "$profile" -p txgraph-distributed -p txgraph-cli
    mkdir -p "$state"
    start scheduler txgraph-scheduler --listen "127.0.0.1:$port"
    for ((i = 1; i <= count; i++)); do
        start "executor-$i" txgraph-executor --scheduler "127.0.0.1:$port" \
            --port $((port + 2 * i)) --grpc-port $((port + 2 * i + 1)) \
            --work-dir "$state/work-$i" --tasks 1
    done
    for ((i = 0; i < 300; i++)); do
        [ "$(executors)" -lt "$count" ] || break
        sleep 0.1
    done
    [ "$(executors)" -ge "$count" ] || { logs; die "the executors did not start"; }
    say "ready: txgraph graph --cluster 127.0.0.1:$port …"
}

names() { [ ! -d "$state" ] || find "$state" -maxdepth 1 -name '*.pid' -printf '%f\n' | sed 's/\.pid$//' | sort -r; }

status() {
    local name
    for name in $(names); do
        if alive "$name"; then
            echo "$name runs (process $(cat "$state/$name.pid"))"
        else
            echo "$name ended; see $state/$name.log"
        fi
    done
}

logs() {
    local name
    for name in $(names); do
        echo "== $state/$name.log"
        tail -n 20 "$state/$name.log"
    done
}

down() {
    local name i
    for name in $(names); do
        if alive "$name"; then
            kill "$(cat "$state/$name.pid")"
            for ((i = 0; i < 50; i++)); do
                alive "$name" || break
                sleep 0.1
            done
            ! alive "$name" || kill -KILL "$(cat "$state/$name.pid")"
        fi
        rm -f "$state/$name.pid" "$state/$name.comm"
    done
    rm -rf "$state"/work-*
}

case ${1:-} in
    up) up "${2:-2}" ;;
    status) status ;;
    logs) logs ;;
    down) down ;;
    *) sed -n '2,10p' scripts/cluster.sh | sed 's/^# \{0,1\}//'; exit 2 ;;
esac
