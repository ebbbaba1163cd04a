#!/usr/bin/env bash
# Clustering of computation vectors: processor time and memory, beside scipy and
# fastcluster where Debian's python3-scipy and python3-fastcluster are installed,
# else beside the figures of one run of them; the same merges on 1, 2, 3 and 8
# ranks; what sharing the rows saves; parts after the split. Vectors are made, see
# main.go. Times are processor time; a rank that waits for others may spend it too.
#
# usage: bench/predict/cluster/run.sh [peer] [ranks] [scaling] [split] [big]
#   big: 40 000 vectors in one part on 16 ranks, 8 GB of memory; not in the default
set -eu
cd "$(dirname "$0")/../../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bench=$dir/cluster
go build -o "$bench" ./bench/predict/cluster
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on() {
	local ranks=$1
	shift
	mpirun --oversubscribe --bind-to none -n "$ranks" "$bench" "$@"
}

peer() {
	local python=
	for p in /usr/bin/python3 python3; do
		if "$p" -c 'import fastcluster, scipy' 2>/dev/null; then
			python=$p
			break
		fi
	done
	"$bench" -k 10000 -dump "$dir/vectors"
	for linkage in complete average single; do
		"$bench" -k 10000 -linkage "$linkage"
		if [ -n "$python" ]; then
			echo "  peer: $("$python" bench/predict/cluster/peer.py "$dir/vectors" 32 "$linkage")"
		fi
	done
	[ -n "$python" ] || echo "  peer, another run on other vectors: scipy 1.10.1 0.85 s, fastcluster 1.2.3 1.79 s complete, 2.47 s average, 1.33 s single; 827 MB"
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
	"$bench" -k 100000 -percent 5 -kinds 100 -limit 1000
	on 4 -k 100000 -percent 5 -limit 500
}

big() {
	on 16 -k 40000 -limit 460
}

[ $# -gt 0 ] || set -- peer ranks scaling split
for section; do
	echo "$section:"
	"$section"
done
