#!/usr/bin/env bash
# Makes cmd/coppice/analyze.pgo anew: it tells the compiler in which functions an analysis spends its time, as measured with generated
# programs. scripts/install and bench/run build with it; by hand: go build -pgo=cmd/coppice/analyze.pgo ./cmd/coppice.
#
# usage: bench/analyze/pgo.sh
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -C bench -o "$work/analyze" ./analyze
# A stop to let other goroutines run would be found where it was asked for.
GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1 "$work/analyze" stages -n 3 -cpuprofile "$work/profile" \
	ring:procs=16,events=4M,jitter=5,seed=1 stencil:procs=16,events=4M,jitter=5 irregular:procs=8,events=1M masterworker:procs=8,events=1M
go tool pprof -proto -output cmd/coppice/analyze.pgo "$work/profile"
