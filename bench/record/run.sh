#!/bin/sh
# What recording costs per call: bench/record/run.sh [CALLS [RUNS]]. Runs with and without the recorder take turns; printed are
# the least ns per call of each, their difference, and bytes of an event. Needs mpicc, mpirun and a built coppice in PATH or
# COPPICE.
set -eu
calls=${1:-1000000} runs=${2:-5} here=$(dirname "$0") coppice=${COPPICE:-coppice} cc=${CC:-mpicc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cc" -O2 -o "$work/loop" "$here/loop.c"
i=0
while [ "$i" -lt "$runs" ]; do
	mpirun -n 1 "$work/loop" "$calls" >>"$work/plain"
	rm -rf "$work/run"
	"$coppice" record -o "$work/run" --keep -- mpirun -n 1 "$work/loop" "$calls" >>"$work/recorded" 2>/dev/null
	i=$((i + 1))
done
least() { sort -n -k "$2" "$work/$1" | head -1 | cut -d ' ' -f "$2"; }
for column in 1 2; do
	name=$(echo MPI_Comm_rank MPI_Sendrecv | cut -d ' ' -f "$column")
	awk -v name="$name" -v a="$(least plain $column)" -v b="$(least recorded $column)" \
		'BEGIN { printf "%-14s %8.1f ns plain %8.1f ns recorded %8.1f ns more, ratio %.2f\n", name, a, b, b - a, b / a }'
done
# a call of the first loop is 2 events, one of the second 4
wc -c <"$work/run/recording/0.evt" | awk -v n="$calls" '{ printf "%.1f bytes an event\n", $1 / (6 * n) }'
