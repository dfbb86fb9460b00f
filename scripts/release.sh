#!/usr/bin/env bash
# Builds what a release consists of, in dist/: an archive with the program, its manual, completions and
# licenses, Python wheels, SHA256SUMS, and images in the container engine.
#
#   scripts/release.sh                        everything
#   scripts/release.sh --no-wheels --no-images
#   scripts/release.sh --binary PATH          packs this program instead of building one
#
# The program has the default features and lakes in buckets (`s3`). It is built for glibc 2.28 with zig
# from PyPI, or, if that cannot be installed, for the glibc of this system. The script fails if the
# program needs a later one, and without a container engine unless --no-images is given. Equal programs
# of one commit give equal archives.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

wheels=1 images=1 binary=
while [ $# -gt 0 ]; do
    case $1 in
        --no-wheels) wheels= ;;
        --no-images) images= ;;
        --binary) binary=$(given_path "${2:?}") && shift ;;
        *) die "usage: scripts/release.sh [--no-wheels] [--no-images] [--binary PATH]" ;;
    esac
    shift
done
[ "$(uname -sm)" = "Linux x86_64" ] || die "releases are built on x86-64 Linux"
git diff --quiet HEAD || die "there are changes that are not committed"
need_build
need objdump binutils
make_scratch

target=x86_64-unknown-linux-gnu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=txgraph-$version-x86_64-linux-gnu
TXGRAPH_COMMIT=$(git rev-parse HEAD | cut -c1-7)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export TXGRAPH_COMMIT SOURCE_DATE_EPOCH
rm -rf dist
mkdir dist

# choose_glibc: sets $glibc to the version that is built for, and $zig if zig links.
choose_glibc() {
    local venv=$tools/zig
    zig=""
    glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
    if [ -z "$binary" ] && (need_venv "$venv" cargo-zigbuild==0.24.1 ziglang==0.15.2); then
        zig=1 glibc=2.28
        export PATH=$venv/bin:$PATH
        CARGO_ZIGBUILD_ZIG_PATH=$("$venv/bin/python" -c 'import ziglang; print(ziglang.__path__[0])')/zig
        export CARGO_ZIGBUILD_ZIG_PATH
        # For libmdbx. zig has glibc's sys/cachectl.h for every architecture, but on x86-64 not what it
        # includes; it forbids __DATE__, which SOURCE_DATE_EPOCH fixes; its baseline lacks what functions for
        # AVX-512 are built with; and it has no __builtin_cpu_supports, by which writers choose them.
        CFLAGS_x86_64_unknown_linux_gnu="-D_SYS_CACHECTL_H -Wno-date-time -mevex512"
        CFLAGS_x86_64_unknown_linux_gnu+=" -DMDBX_HAVE_BUILTIN_CPU_SUPPORTS=0"
        export CFLAGS_x86_64_unknown_linux_gnu
    fi
    say "the release is for glibc $glibc${zig:+, linked with zig}"
}

# build_program: sets $binary.
build_program() {
    local options=(--release --locked -p txgraph-cli --features s3)
    if [ -n "$zig" ]; then
        cargo zigbuild "${options[@]}" --target "$target.$glibc"
    else
        cargo build "${options[@]}" --target "$target"
    fi
    binary=$CARGO_TARGET_DIR/$target/release/txgraph
}

# needs_at_most GLIBC FILE
needs_at_most() {
    local needed
    needed=$(objdump -T "$2" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -1)
    say "$(basename "$2") needs glibc $needed"
    printf '%s\n%s\n' "$needed" "$1" | sort -CV || die "$2 needs glibc $needed, which is above $1"
}

# pack BINARY: writes dist/$name.tar.zst.
pack() {
    local folder=$scratch/$name shell linked
    mkdir -p "$folder"/{man/man1,completions}
    strip -o "$folder/txgraph" "$1"
    # The first lines of a page come before its title, which is the name of its file.
    "$folder/txgraph" man | awk -v folder="$folder/man/man1" '
        /^\.ie / { file = "" }
        { page = page $0 "\n" }
        /^\.TH / { file = folder "/" $2 ".1" }
        file { printf "%s", page >file; page = "" }'
    for shell in bash elvish fish powershell zsh; do
        "$folder/txgraph" completions "$shell" >"$folder/completions/txgraph.$shell"
    done
    mapfile -t linked < <(cargo tree --locked -p txgraph-cli --features s3 --target "$target" -e normal \
        --prefix none | cut -d' ' -f1,2 | sort -u)
    cargo metadata --locked --format-version 1 | python3 scripts/third-party.py "${linked[@]}" \
        >"$folder/THIRD-PARTY"
    cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$folder"
    (cd "$folder" && find . -type f -printf '%P\0' | sort -z | xargs -0 sha256sum >"$scratch/sums")
    mv "$scratch/sums" "$folder/SHA256SUMS"
    tar -C "$scratch" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX -c "$name" |
        zstd -q -19 --threads=1 -o "dist/$name.tar.zst"
}

build_wheels() {
    local options=(--compatibility "manylinux_${glibc/./_}") wheel
    wheel=$(scripts/python.sh wheel ${zig:+--zig} "${options[@]}")
    cp "$wheel" dist/
}

build_images() {
    local image
    for image in txgraph txgraph-cluster; do
        say "building the image $image:$version"
        docker build --target "$image" --build-arg "COMMIT=$TXGRAPH_COMMIT" -t "$image:$version" -t "$image" .
    done
}

choose_glibc
[ -n "$binary" ] || build_program
needs_at_most "$glibc" "$binary"
pack "$binary"
[ -z "$wheels" ] || build_wheels
(cd dist && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
if [ -n "$images" ]; then
    docker info >/dev/null 2>&1 || die "the images are NOT built: no container engine runs (--no-images)"
    build_images
fi
