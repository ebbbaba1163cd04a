#!/usr/bin/env bash
# Speed and memory of analyze, end to end: a generated archive (or the one given)
# is analysed with one and two in-process ranks, or with RANKS, several times. Prints events per
# second of wall time, events per CPU second, peak memory, the stage breakdown of
# rank 0, what it held in files meanwhile, and the sizes of archive and result. One run of this script is one
# measurement: compare only figures of the same run.
#
# usage: bench/analyze/run.sh [-n REPEATS] [-r RANKS] [SPEC | ARCHIVE.otf2 [OPTION...]]
#   SPEC as of coppice demo --spec, default stencil:procs=16,events=16M,jitter=5; OPTION of analyze, such as --mem 512M
set -eu
cd "$(dirname "$0")/../.."
repeats=3 counts="1 2"
while getopts n:r: o; do
	case $o in n) repeats=$OPTARG ;; r) counts=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
what=${1:-stencil:procs=16,events=16M,jitter=5}
[ $# -eq 0 ] || shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -pgo=cmd/coppice/analyze.pgo -o "$work/coppice" ./cmd/coppice
case $what in
*.otf2) anchor=$what ;;
*) anchor=$work/trace/traces.otf2
	"$work/coppice" demo -o "$work/trace" --spec "$what" >/dev/null ;;
esac
echo "$what: archive $(du -sb "$(dirname "$anchor")" | cut -f 1) bytes"
for ranks in $counts; do
	for i in $(seq "$repeats"); do
		/usr/bin/env time -f "%U %S %e %M" -o "$work/time" \
			"$work/coppice" analyze "$anchor" -o "$work/run.xtf" -f -v -j "$ranks" --progress none "$@" 2>"$work/log"
		events=$(sed -n 's/.*: \([0-9]*\) events of .*/\1/p' "$work/log")
		awk -v e="$events" -v r="$ranks" -v i="$i" '{ printf "%d rank(s), run %d: %.2f M events/s wall, %.2f M events per CPU second, %.2f s wall, peak %.0f MiB\n", r, i, e/$3/1e6, e/($1+$2)/1e6, $3, $4/1024 }' "$work/time"
	done
	grep 'rank 0' "$work/log" | sed 's/^coppice: /    /'
done
echo "result $(stat -c %s "$work/run.xtf") bytes"
