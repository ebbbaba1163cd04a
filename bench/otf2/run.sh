#!/bin/sh
# Compares reading of OTF2 archives with libotf2: events per CPU second, both
# sides alternately in one run, medians.
#
#   bench/otf2/run.sh [LOCATIONS [EVENTS_PER_LOCATION [ROUNDS]]]
#
# Needs a C compiler and libotf2 (Debian: libotf2-trace-dev).
set -eu

locations=${1:-16}
events=${2:-1000000}
rounds=${3:-7}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

cc=${CC:-cc}
if ! command -v "$cc" >/dev/null 2>&1; then
	echo "bench/otf2: skipped, no C compiler" >&2
	exit 0
fi
if ! "$cc" -O3 -march=native -o "$work/peer" "$here/peer/peer.c" -lotf2 2>"$work/log"; then
	echo "bench/otf2: skipped, cannot build with libotf2 (Debian: apt-get install libotf2-trace-dev)" >&2
	cat "$work/log" >&2
	exit 0
fi
(cd "$here" && go build -o "$work/ours" .)
"$work/ours" make "$work/archive" "$locations" "$events"
echo "archive: $locations locations, $((locations * events)) events, $(du -sm "$work/archive" | cut -f1) MB; $rounds rounds, medians of million events per CPU second"

median() {
	sort -n "$1" | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

printf '%-8s %10s %10s %8s\n' mode libotf2 coppice ratio
for mode in decode touch merge; do
	: >"$work/peer.rates"
	: >"$work/ours.rates"
	i=0
	while [ "$i" -lt "$rounds" ]; do
		"$work/peer" "$mode" "$work/archive/ring.otf2" >"$work/peer.out"
		GOMAXPROCS=1 "$work/ours" "$mode" "$work/archive" >"$work/ours.out"
		awk '{print $1 / $2 / 1e6}' "$work/peer.out" >>"$work/peer.rates"
		awk '{print $1 / $2 / 1e6}' "$work/ours.out" >>"$work/ours.rates"
		if [ "$(cut -d' ' -f1 "$work/peer.out")" != "$(cut -d' ' -f1 "$work/ours.out")" ]; then
			echo "bench/otf2: the two readers count differently" >&2
			exit 1
		fi
		if [ "$mode" != decode ] && [ "$(cut -d' ' -f3 "$work/peer.out")" != "$(cut -d' ' -f3 "$work/ours.out")" ]; then
			echo "bench/otf2: the two readers see different events" >&2
			exit 1
		fi
		i=$((i + 1))
	done
	p=$(median "$work/peer.rates")
	o=$(median "$work/ours.rates")
	echo "$mode $p $o" | awk '{printf "%-8s %10.1f %10.1f %7.2fx\n", $1, $2, $3, $3 / $2}'
done
