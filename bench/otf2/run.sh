#!/usr/bin/env bash
# Compares reading of OTF2 archives with libotf2 and its Python bindings: million events per CPU second, all readers in turns,
# medians. The readers must count the same events and see the same fields.
#
#   bench/otf2/run.sh [-l] [-r ROUNDS] [-w libotf2|python] [SPEC | ARCHIVE.otf2]
#
# SPEC is as of coppice demo --spec, default ring:procs=16,events=16M,jitter=5.
# -l prints lines "MODE READER COPPICE'S READER'S" with tabs; -w compares with one reader alone: the bindings take a hundred
# times longer. Needs a C compiler and libotf2 (Debian: libotf2-trace-dev), for the bindings python3-otf2.
set -euo pipefail

lines= rounds=7 with=
while getopts lr:w: o; do
	case $o in
	l) lines=1 ;;
	r) rounds=$OPTARG ;;
	w) with=$OPTARG ;;
	*) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

if ! "${CC:-cc}" -O3 -march=native -o "$work/libotf2" "$here/peer/peer.c" -lotf2 2>"$work/log"; then
	echo "bench/otf2: skipped, cannot build with libotf2 (Debian: apt-get install gcc libotf2-trace-dev)" >&2
	sed -n 1,3p "$work/log" >&2
	exit 0
fi
python=
if [ "$with" != libotf2 ]; then
	# Debian's bindings belong to Debian's Python
	for python in /usr/bin/python3 python3 ''; do
		[ -n "$python" ] && "$python" -c 'import otf2' 2>/dev/null && break
	done
	[ -n "$python" ] || echo "bench/otf2: without OTF2's Python bindings (Debian: apt-get install python3-otf2)" >&2
fi
(cd "$here" && go build -o "$work/ours" .)
case ${1:-} in
*.otf2) anchor=$1 ;;
*)
	[ -n "${COPPICE:-}" ] || (cd "$here/../.." && go build -o "$work/coppice" ./cmd/coppice)
	"${COPPICE:-$work/coppice}" demo -o "$work/archive" --spec "${1:-ring:procs=16,events=16M,jitter=5}" >/dev/null
	anchor=$work/archive/traces.otf2
	;;
esac

median() {
	sort -n "$1" | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

# once NAME COMMAND...: a reader prints events, seconds and a sum; keeps its rate
once() {
	local name=$1
	shift
	"$@" >"$work/$name.out"
	awk '{print $1 / $2 / 1e6}' "$work/$name.out" >>"$work/$name.rates"
}

# compare MODE READER COMMAND...
compare() {
	local mode=$1 reader=$2 i fields=1,3
	shift 2
	[ "$mode" = decode ] && fields=1
	rm -f "$work"/*.rates
	for i in $(seq "$rounds"); do
		once peer "$@" "$mode" "$anchor"
		GOMAXPROCS=1 once ours "$work/ours" "$mode" "$anchor"
		if [ "$(cut -d' ' -f$fields "$work/peer.out")" != "$(cut -d' ' -f$fields "$work/ours.out")" ]; then
			echo "bench/otf2: $mode: $reader and coppice see different events" >&2
			exit 1
		fi
	done
	printf '%s\t%s\t%s\t%s\n' "$mode" "$reader" "$(median "$work/ours.rates")" "$(median "$work/peer.rates")"
}

all() {
	local mode
	if [ "$with" != python ]; then
		for mode in decode touch merge; do
			compare "$mode" libotf2 "$work/libotf2"
		done
	fi
	if [ -n "$python" ]; then
		compare merge python "$python" "$here/peer/peer.py"
	fi
}

if [ -n "$lines" ]; then
	all
	exit
fi
echo "archive: $(cut -d' ' -f1 <("$work/libotf2" decode "$anchor")) events, $(du -sm "$(dirname "$anchor")" | cut -f1) MB; $rounds rounds, medians of million events per CPU second"
printf '%-8s %-8s %10s %10s %8s\n' mode reader theirs coppice ratio
all | awk -F '\t' '{printf "%-8s %-8s %10.2f %10.2f %7.2fx\n", $1, $2, $4, $3, $3 / $4}'
