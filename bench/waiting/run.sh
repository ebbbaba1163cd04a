#!/usr/bin/env bash
# bench/waiting/run.sh [-b BINARY] [-e EVENTS] [RANKS...]
#
# What waiting costs under mpirun, as tables: a message that goes round all ranks, 64 idle ranks next to one that works, and the
# whole analysis of a ring, a stencil and a sweep of EVENTS events (default 4M) in 16 locations, with Open MPI and, where
# mpirun.mpich is, with MPICH. RANKS are 1 2 4 8 16 by default; more of them than cores is what it is for. -b analyses with another
# Open MPI binary, such as one of an earlier state.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

binary= events=4M
while getopts b:e: o; do
	case $o in
	b) binary=$(realpath "$OPTARG") ;;
	e) events=$OPTARG ;;
	*) sed -n '2,/^\. /s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 1 2 4 8 16

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/coppice" ./cmd/coppice && go build -C bench -o "$dir/waiting" ./waiting || exit
: "${binary:=$dir/coppice}"
libraries=("Open MPI")
if has mpirun.mpich; then
	go build -tags mpich -o "$dir/coppice-mpich" ./cmd/coppice && go build -C bench -tags mpich -o "$dir/waiting-mpich" ./waiting || exit
	libraries+=(MPICH)
fi

# launch LIBRARY RANKS PROGRAM ARGUMENTS...
launch() {
	local library=$1 ranks=$2 program=$3
	shift 3
	case $library in
	MPICH) mpirun.mpich -n "$ranks" "$program-mpich" "$@" ;;
	*) mpirun --oversubscribe --bind-to none -n "$ranks" "$program" "$@" ;;
	esac
}

row() { printf '| %s |' "$1"; shift; printf ' %s |' "$@"; echo; }

header() {
	row "$@"
	printf '|---|'; shift; printf -- '---|%.0s' "$@"; echo
}

echo "$(nproc) cores"
echo
header "us a hop" "${@/#/ranks }"
for library in "${libraries[@]}"; do
	cells=()
	for ranks; do cells+=("$(launch "$library" "$ranks" "$dir/waiting" hop)"); done
	row "$library" "${cells[@]}"
done
echo
header "speed of one rank next to 63 that wait" "of that alone"
for library in "${libraries[@]}"; do
	alone=$(launch "$library" 1 "$dir/waiting" idle 3s) among=$(launch "$library" 64 "$dir/waiting" idle 3s)
	row "$library" "$(awk "BEGIN { printf \"%.2f\", $among / $alone }")"
done
echo
header "s of wall time" "${@/#/ranks }"
for program in ring stencil wavefront; do
	"$dir/coppice" demo -o "$dir/trace" -f --spec "$program:procs=16,events=$events,jitter=10,seed=1" >/dev/null 2>&1 || exit
	for library in "${libraries[@]}"; do
		[ "$library" = MPICH ] && analyse=$dir/coppice || analyse=$binary
		cells=()
		for ranks; do
			begin=$EPOCHREALTIME
			launch "$library" "$ranks" "$analyse" analyze "$dir/trace" -o "$dir/run.xtf" -f -q >"$dir/log" 2>&1 || cat "$dir/log" >&2
			cells+=("$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $begin }")")
		done
		row "$program, $library" "${cells[@]}"
	done
done
