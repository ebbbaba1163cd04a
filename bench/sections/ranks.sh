#!/usr/bin/env bash
# ranks: one analysis on as many ranks of mpirun as of one process, more of them than cores. Seconds are of wall time, medians of the
# rounds; off those of mpirun goes what ranks take there that only begin and end MPI.
. bench/sections/lib.sh

sizes="2 4 8 16" events=10M rounds=3
quick && sizes=2 events=100k rounds=1
if ! command -v mpirun >/dev/null; then
	skip ranks "ring and wavefront" "one process" "needs Open MPI"
	exit
fi
waiting=$BENCH_WORK/waiting
go build -C bench -o "$waiting" ./waiting
for program in ring wavefront; do
	archive=$BENCH_WORK/$program
	"$COPPICE" demo -o "$archive" --spec "$program:procs=16,events=$events,jitter=5,seed=1" >/dev/null
	for n in $sizes; do
		what="$program, 16 processes, $events events, $n ranks of mpirun"
		say "$what"
		for _ in $(seq $rounds); do
			cost "$BENCH_WORK/start.$program.$n" "${ranks[@]}" "$n" "$waiting" start
			cost "$BENCH_WORK/mpi.$program.$n" "${ranks[@]}" "$n" "$COPPICE" analyze "$archive" -o "$BENCH_WORK/run.xtf" -f -q
			cost "$BENCH_WORK/one.$program.$n" "$COPPICE" analyze "$archive" -o "$BENCH_WORK/run.xtf" -f -q -j "$n"
		done
		start=$(column 3 "$BENCH_WORK/start.$program.$n")
		row ranks "$what" "one process" "$(awk -v t="$(column 3 "$BENCH_WORK/mpi.$program.$n")" -v s="$start" 'BEGIN { print t - s }')" \
			"$(column 3 "$BENCH_WORK/one.$program.$n")" s less "start $start s; $(rest "$BENCH_WORK"/{mpi,one}."$program.$n")"
	done
	rm -r "$archive"
done
