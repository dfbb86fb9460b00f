#!/usr/bin/env python3
"""Prints the licenses of everything that is linked into the program `txgraph`.

Reads the output of `cargo metadata` from stdin. The arguments are lines of `cargo tree`: package and
version, such as `zstd-sys v2.0.16`.
"""

import json
import pathlib
import sys


def texts(package):
    """The license files of a package, and of the sources in other languages that it contains."""
    folder = pathlib.Path(package["manifest_path"]).parent
    names = ("licen", "copying", "notice", "unlicense")
    found = [path for path in folder.rglob("*") if path.name.lower().startswith(names)]
    return sorted(path for path in found if path.is_file() and path.suffix not in {".rs", ".py"})


def main():
    linked = set(sys.argv[1:])
    packages = json.load(sys.stdin)["packages"]
    packages = [p for p in packages if f"{p['name']} v{p['version']}" in linked and p["source"]]
    packages.sort(key=lambda package: (package["name"], package["version"]))
    print("txgraph contains the Rust standard library (MIT OR Apache-2.0) and these packages.\n")
    users = {}
    for package in packages:
        license = package["license"] or "see its file"
        print(f"{package['name']} {package['version']}: {license}, {package['repository'] or 'no repository'}")
        for path in texts(package):
            text = path.read_text(errors="replace").strip()
            users.setdefault(text, []).append(f"{package['name']} {package['version']}")
    for text, names in users.items():
        print("\n" + "=" * 80 + "\n" + ", ".join(dict.fromkeys(names)) + "\n")
        print(text)


main()
