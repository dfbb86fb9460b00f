#!/bin/sh
# Graphviz whose engine `dot` never finishes.
text=$(cat)
case $text in
*layout=dot*) exec sleep 600 ;;
*) printf '%s\n' "$text" | exec dot "$@" ;;
esac
