#!/bin/sh
# Stands for a Graphviz that never finishes.
exec sleep infinity
