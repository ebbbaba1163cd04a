#!/usr/bin/env bash
# The whole matrix of "same input, same bytes": every archive given (default:
# all OTF2 archives next to the repository and a generated one of 64 processes
# and 20 M events) is analysed by 1, 2, 3, 5, 8, 16 and 64 MPI ranks and without
# a launcher, with the smallest and no memory for segments, GOMAXPROCS 1 and 8,
# from a copy under another path, into another name. All files must be equal,
# and the event count must be what the definitions announce. Prints one line per
# archive and ends with 1 if anything differs.
#
# usage: bench/matrix/run.sh [-r "1 2 3 5 8 16 64"] [ARCHIVE.otf2 ...]
set -u
cd "$(dirname "$0")/../.." || exit 1
ranks="1 2 3 5 8 16 64"
if [ "${1:-}" = "-r" ]; then ranks=$2; shift 2; fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/coppice" ./cmd/coppice || exit 1
c=$work/coppice

if [ $# -eq 0 ]; then
	set -- ../shared/traces/otf2/*/*.otf2
	"$c" demo -o "$work/generated" --spec stencil:procs=64,events=20M,jitter=5 >/dev/null || exit 1
	set -- "$@" "$work/generated/traces.otf2"
fi

fail=0
for anchor in "$@"; do
	name=$(basename "$(dirname "$anchor")")/$(basename "$anchor")
	ref=$work/ref.xtf
	rm -f "$work"/*.xtf
	"$c" analyze "$anchor" -o "$ref" -q -j 1 2>"$work/err"
	rc=$?
	if [ $rc -ne 0 ] && [ $rc -ne 4 ]; then
		echo "$name: refused, exit $rc: $(head -n 1 "$work/err")"
		continue
	fi
	runs=0 bad=""
	same() { # what, output
		runs=$((runs + 1))
		cmp -s "$ref" "$2" || bad="$bad; $1"
		rm -f "$2"
	}
	for n in $ranks; do
		mpirun --oversubscribe --bind-to none -n "$n" "$c" analyze "$anchor" -o "$work/m.xtf" -q 2>/dev/null
		same "$n MPI ranks" "$work/m.xtf"
	done
	"$c" analyze "$anchor" -o "$work/another name.xtf" -q 2>/dev/null
	same "no launcher" "$work/another name.xtf"
	for store in 0 64K; do
		"$c" analyze "$anchor" -o "$work/s.xtf" -q -j 3 --store $store 2>/dev/null
		same "store $store" "$work/s.xtf"
	done
	for procs in 1 8; do
		GOMAXPROCS=$procs "$c" analyze "$anchor" -o "$work/g.xtf" -q -j 4 2>/dev/null
		same "GOMAXPROCS $procs" "$work/g.xtf"
	done
	mkdir -p "$work/copy of it"
	base=${anchor%.otf2}
	cp "$anchor" "$base.def" "$work/copy of it/" && if [ -d "$base" ]; then cp -r "$base" "$work/copy of it/"; fi
	"$c" analyze "$work/copy of it/$(basename "$anchor")" -o "$work/c.xtf" -q 2>/dev/null
	same "a copy under another path" "$work/c.xtf"
	rm -rf "$work/copy of it"
	events=$("$c" report "$ref" --format json 2>/dev/null | sed -n 's/.*"events": *\([0-9]*\).*/\1/p' | head -n 1)
	if [ -n "$bad" ]; then
		fail=1
		echo "$name: DIFFERS:${bad#;} ($runs runs)"
	else
		echo "$name: $runs runs equal, $events events, $(stat -c %s "$ref") bytes"
	fi
done
exit $fail
