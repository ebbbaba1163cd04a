#!/usr/bin/env bash
# What intervals, wait states and their causes add to reading and writing: user
# time of each stage of an analysis on one rank and one core, the least of several
# analyses, and the ratio of the added stages to the others; the part of the load
# that recognises intervals comes from a profile of the same analyses. Compare only
# figures of the same run.
#
# usage: bench/analyze/stages.sh [-n REPEATS] [SPEC | ARCHIVE.otf2 ...]
#   SPEC as of coppice demo --spec
set -eu
cd "$(dirname "$0")/../.."
repeats=3
if [ "${1:-}" = "-n" ]; then repeats=$2; shift 2; fi
if [ $# -eq 0 ]; then
	set -- stencil:procs=8,events=2M,jitter=5 stencil:procs=16,events=2M,jitter=5 irregular:procs=8,events=1M masterworker:procs=8,events=1M
	for name in lulesh-s4-27 npb-lu.S-16 npb-mg.S-func-16; do
		archive=../shared/traces/otf2/$name/traces.otf2
		if [ -f "$archive" ]; then set -- "$@" "$archive"; else echo "no $archive" >&2; fi
	done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -C bench -o "$work/analyze" ./analyze
# cumulative samples of the load of locations, and of those of them that match
samples() {
	go tool pprof -unit ms -top -cum -nodecount 100000 -nodefraction 0 "$@" "$work/analyze" "$work/profile" 2>/dev/null |
		awk '$NF ~ /jobs.\(\*analysis\).load$/ { print $4 + 0 }'
}
for what; do
	GOMAXPROCS=1 "$work/analyze" stages -n "$repeats" -cpuprofile "$work/profile" "$what" >"$work/stages"
	cat "$work/stages"
	load=$(samples)
	hooks=$(samples -focus 'coppice/(interval|callpath)\.|stats\.\(\*(ledger|executions|markers)\)|stats\.\(\*location\)\.(path|innermostPath)$')
	awk -v l="${load:-0}" -v h="${hooks:-0}" '
		$1 == "load" { load = $2 }
		/stages added/ { added = $5; others = $7 }
		END {
			if (l == 0) exit
			k = load * h / l
			printf "  with intervals in load (%.0f %% of it): %.1f / %.1f ms = %.2f\n", 100 * h / l, added + k, others - k, (added + k) / (others - k)
		}' "$work/stages"
done
