#!/usr/bin/env bash
# Clustering of computation vectors: the same merges on 1, 2, 3 and 8 ranks; what
# sharing the rows saves; parts after the split. Vectors are made, see main.go. Times
# are processor time; a rank that waits for others may spend it too. bench/run
# clustering compares with other libraries.
#
# usage: bench/predict/cluster/run.sh [ranks] [scaling] [split] [big]
#   big: 40 000 vectors in one part on 16 ranks, 8 GB of memory; not in the default
set -eu
cd "$(dirname "$0")/../../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bench=$dir/cluster
go build -C bench -o "$bench" ./predict/cluster
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on() {
	local ranks=$1
	shift
	mpirun --oversubscribe --bind-to none -n "$ranks" "$bench" "$@"
}

ranks() {
	for linkage in complete average single; do
		"$bench" -k 6000 -linkage "$linkage" | head -1
		for n in 1 2 3 8; do
			on "$n" -k 6000 -linkage "$linkage" | head -1
		done
	done
}

scaling() {
	"$bench" -k 20000
	on 8 -k 20000 -limit 300
	"$bench" -k 10000 -m 512
	on 8 -k 10000 -m 512 -limit 300
}

split() {
	"$bench" -k 100000 -percent 5 -limit 1000
	"$bench" -k 100000 -percent 1 -kinds 100 -limit 1000
	on 4 -k 100000 -percent 5 -limit 500
}

big() {
	on 16 -k 40000 -limit 460
}

[ $# -gt 0 ] || set -- ranks scaling split
for section; do
	echo "$section:"
	"$section"
done
