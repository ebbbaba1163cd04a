#!/usr/bin/env bash
# How well call graphs compress, and how fast: counted sizes of generated programs
# and of the archives next to the repository, at several deviations, then the Go
# benchmarks with their targets. Prints Markdown. docs/graph.md quotes one run.
#
# usage: bench/ccg/run.sh [-events N] [-traces DIR] [figures] [scaling] [archives] [speeds]
#   -events of each generated program, default 4M; -traces a folder with an archive
#   in each subfolder, default ../shared/traces/otf2. Everything takes about
#   four minutes of processor time.
set -eu
cd "$(dirname "$0")/../.."
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', with changes'), $(go version | cut -d ' ' -f 3,4), $(nproc) cores"
echo
exec bench/tool ccg "$@"
