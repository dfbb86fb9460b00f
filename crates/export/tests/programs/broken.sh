#!/bin/sh
# Stands for a Graphviz that fails.
cat > /dev/null
echo "cannot draw" >&2
exit 3
