#!/usr/bin/env bash
# queueing: a closed network solved by coppice capacity and by GNU Octave's queueing package. Seconds are of processor time of the
# whole command.
. bench/sections/lib.sh

name="Octave queueing"
command="capacity solve, 20 jobs, 3 centers, the whole command"
if [ -z "$(debian octave-queueing)" ] || ! command -v octave-cli >/dev/null; then
	skip queueing "$command" "$name" "needs Debian's octave-queueing"
	exit
fi
peer "$name" "$(debian octave-queueing)"
peer "GNU Octave" "$(debian octave)"

say "command"
cat >"$BENCH_WORK/model.toml" <<'MODEL'
schema = "coppice.capacity/1"
load = { jobs = 20, think = 15.0 }
centers = [ { name = "a", kind = "ps" }, { name = "b", kind = "ps" }, { name = "c", kind = "ps" } ]
tasks = [ { id = 1, class = "work" } ]
[classes.work]
demand = { a = 2.0, b = 3.0, c = 1.0 }
MODEL
for _ in 1 2 3; do
	cost "$BENCH_WORK/own.command" "$COPPICE" capacity solve "$BENCH_WORK/model.toml" --format json
	cost "$BENCH_WORK/peer.command" octave-cli --no-gui --quiet --eval \
		'pkg load queueing; [U R Q X] = qncsmva(20, [2 3 1], [1 1 1], [1 1 1], 15); printf("%.12f\n", sum(R))' 2>>"$BENCH_WORK/messages"
done
own=$(sed -n 's/.*"response": \([0-9.]*\).*/\1/p' "$BENCH_WORK/own.command.out" | head -1)
row queueing "$command" "$name" "$(column 1 "$BENCH_WORK/own.command")" "$(column 1 "$BENCH_WORK/peer.command")" "CPU s" less \
	"response $own and $(cat "$BENCH_WORK/peer.command.out") s"
