#!/bin/sh
# What recording costs per call: bench/record/run.sh [CALLS [RUNS]]. Runs without the recorder and with it, for several depths of call
# sites, take turns; printed are the least ns per call of each, the difference, and bytes of an event. Needs mpicc, mpirun and a built
# coppice in PATH or COPPICE.
set -eu
calls=${1:-1000000} runs=${2:-5} here=$(dirname "$0") coppice=${COPPICE:-coppice} cc=${CC:-mpicc}
depths="off 1 8"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cc" -O2 -o "$work/loop" "$here/loop.c"
i=0
while [ "$i" -lt "$runs" ]; do
	mpirun -n 1 "$work/loop" "$calls" >>"$work/plain"
	for depth in $depths; do
		rm -rf "$work/run"
		"$coppice" record -o "$work/run" --keep --call-sites "$depth" -- mpirun -n 1 "$work/loop" "$calls" >>"$work/$depth" 2>/dev/null
	done
	i=$((i + 1))
done
least() { sort -n -k "$2" "$work/$1" | head -1 | cut -d ' ' -f "$2"; }
for depth in $depths; do
	for column in 1 2 3; do
		name=$(echo MPI_Comm_rank MPI_Sendrecv MPI_Comm_rank,deep | cut -d ' ' -f "$column")
		awk -v depth="$depth" -v name="$name" -v a="$(least plain $column)" -v b="$(least $depth $column)" \
			'BEGIN { printf "call sites %-3s  %-18s %8.1f ns plain %8.1f ns recorded %8.1f ns more, ratio %.2f\n", depth, name, a, b, b - a, b / a }'
	done
done
# a call of the first and the last loop is 2 events, one of the second 4
wc -c <"$work/run/recording/0.evt" | awk -v n="$calls" '{ printf "%.1f bytes an event\n", $1 / (8 * n) }'
