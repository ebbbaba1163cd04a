#!/usr/bin/env bash
# queueing: closed networks solved by predict/pipeline and by GNU Octave's queueing package, which must agree to 9 digits; and one
# of them as a command. Seconds are of processor time: of one solution, and of the whole command.
. bench/sections/lib.sh

quick=${BENCH_QUICK:+quick}
name="Octave queueing"
networks=(
	"exact-1-class: exact MVA, 1 class, 1000 jobs, 50 centers"
	"exact-servers: exact MVA, 1 class, 20 jobs, 10 centers with 4 servers each"
	"exact-busy-servers: exact MVA, 1 class, 200 jobs, 10 centers with 4 servers each"
	"exact-2-classes: exact MVA, 2 classes, 100 jobs, 10 centers"
	"exact-3-classes: exact MVA, 3 classes, 36 jobs, 10 centers"
	"schweitzer: Schweitzer's approximation, 5 classes, 300 jobs, 50 centers"
	"bounds: asymptotic and balanced bounds, 1 class, 100 jobs, 50 centers"
)
command="capacity solve, 20 jobs, 3 centers, the whole command"
if [ -z "$(debian octave-queueing)" ] || ! command -v octave-cli >/dev/null; then
	for n in "${networks[@]}" ": $command"; do
		skip queueing "${n#*: }" "$name" "needs Debian's octave-queueing"
	done
	exit
fi
peer "$name" "$(debian octave-queueing)"
peer "GNU Octave" "$(debian octave)"

say "networks"
go run ./bench/queueing $quick >"$BENCH_WORK/own"
octave-cli --no-gui --quiet bench/queueing/peer.octave $quick >"$BENCH_WORK/peer" 2>"$BENCH_WORK/messages" # it complains when it ends

# digits FILE FILE: how many digits the results of two lines have in common at least; "negative" where the second cannot be.
digits() {
	paste -d ' ' "$1" "$2" | awk '{
		worst = 0
		for (i = 3; i <= NF / 2; i++) {
			a = $i; b = $(i + NF / 2)
			if (b < 0) { print "negative"; exit }
			d = a > b ? a / b - 1 : b / a - 1
			if (d > worst) worst = d
		}
		print (worst > 0 ? int(-log(worst) / log(10)) : 15)
	}'
}

for n in "${networks[@]}"; do
	key=${n%%: *}
	for who in own peer; do grep "^$key " "$BENCH_WORK/$who" >"$BENCH_WORK/$who.line"; done
	same=$(digits "$BENCH_WORK/own.line" "$BENCH_WORK/peer.line")
	note="equal to $same digits"
	other=$(cut -d ' ' -f 2 "$BENCH_WORK/peer.line")
	if [ "$same" = negative ]; then
		note="the other loses all digits: response $(cut -d ' ' -f 3 "$BENCH_WORK/peer.line" | cut -c 1-7) s; coppice $(cut -d ' ' -f 3 "$BENCH_WORK/own.line" | cut -c 1-9) s"
		other=-
	elif [ "$same" -lt 9 ]; then
		echo "queueing: $key: results differ:" >&2
		cat "$BENCH_WORK/own.line" "$BENCH_WORK/peer.line" >&2
		exit 1
	fi
	row queueing "${n#*: }" "$name" "$(cut -d ' ' -f 2 "$BENCH_WORK/own.line")" "$other" "CPU s" less "$note"
done

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
