#!/usr/bin/env bash
# How fast the event engine of the network simulator is, beside LogGOPSim: the six programs of the comparison, in turns, medians
# of processor time. Makespans and numbers of events must be equal, else it fails.
#
# usage: bench/predict/events.sh [-rounds N] [-loggopsim FOLDER]
#   FOLDER has LogGOPSim and txt2bin, made with -O3 from github.com/spcl/LogGOPSim; without it, speeds measured elsewhere stand in.
set -eu
cd "$(dirname "$0")/../.."
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', with changes'), $(go version | cut -d ' ' -f 3,4), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)"
echo
go build -o "${TMPDIR:-/tmp}/coppice-bench-predict.$$" ./bench/predict
trap 'rm -f "${TMPDIR:-/tmp}/coppice-bench-predict.$$"' EXIT
"${TMPDIR:-/tmp}/coppice-bench-predict.$$" compare "$@"
