#!/usr/bin/env bash
# scout: wait states, delay costs and the critical path by SCOUT, the trace analyser of Scalasca, and by coppice analyze, both under
# mpirun with as many ranks as the trace has processes, which SCOUT needs; more ranks than cores on both sides. bench/scout/run.sh
# measures, and says what the figures are. coppice also writes the call graph and what its rows and indexes need.
. bench/sections/lib.sh

if ! [ -x "$BENCH_PEERS/scout/scout.mpi" ]; then
	skip scout "ring, stencil, wavefront and real archives" SCOUT "needs scout in --peers (bench/peers.sh scout) and Open MPI"
	exit
fi
peer SCOUT "of Scalasca 2.5, $(cat "$BENCH_PEERS/scout/version")"
sizes="2 4 8 16" events=10M rounds=3
archives=("$BENCH_TRACES"/*-{2,4,8,16})
if quick; then
	sizes=2 events=100k rounds=1
	archives=("$BENCH_TRACES"/npb-lu.S-4)
fi
programs=()
for program in ring stencil wavefront; do
	for n in $sizes; do
		programs+=("$program:procs=$n,events=$events,jitter=5,seed=1")
	done
done
for archive in "${programs[@]}" "${archives[@]}"; do
	say "$(basename "$archive")"
	bench/scout/run.sh -p "$BENCH_PEERS" -t "$rounds" "$archive"
done
