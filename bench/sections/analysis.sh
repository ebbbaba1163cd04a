#!/usr/bin/env bash
# analysis: a whole archive analysed, from its bytes to what a user reads. Next to it otf2-print to /dev/null, which decodes and
# prints and so is a floor for everything built on libotf2, and the script on OTF2's Python bindings that people write today
# (bench/analyze/peer/profile.py): profile, message matrix, late senders. Both must find the same. coppice does more: all wait
# states and their causes, call paths, clocks checked, rows with indexes, the call graph. One rank on one core, but for wall time.
. bench/sections/lib.sh

python=
for p in /usr/bin/python3 python3; do # Debian's bindings belong to Debian's Python
	if "$p" -c 'import otf2' 2>/dev/null; then
		python=$p
		break
	fi
done

# own OPTIONS...: what the user does: analyse, then read the report
own() {
	"$COPPICE" analyze "$anchor" -o "$BENCH_WORK/run.xtf" -f --progress none "$@" 2>/dev/null &&
		"$COPPICE" report "$BENCH_WORK/run.xtf"
}
export -f own

# rows WHAT PEER OWN OTHER [NOTE]: time and memory from the files of costs OWN and OTHER
rows() {
	row analysis "$1: processor time" "$2" "$(column 1 "$BENCH_WORK/$3")" "$(column 1 "$BENCH_WORK/$4")" "CPU s" less "${5:-}"
	row analysis "$1: peak memory" "$2" "$(column 2 "$BENCH_WORK/$3")" "$(column 2 "$BENCH_WORK/$4")" "MiB" less
}

# compare ROUNDS WHAT [MEMORY]: the archive $anchor; once more with so much for --mem
compare() {
	local rounds=$1 what=$2 memory=${3:-} i
	say "$what"
	rm -f "$BENCH_WORK"/{full,graph,bounded,cores,print,script}
	export anchor
	for i in $(seq "$rounds"); do
		GOMAXPROCS=1 cost "$BENCH_WORK/full" bash -c 'own -j 1'
		GOMAXPROCS=1 cost "$BENCH_WORK/graph" bash -c 'own -j 1 --events none'
		if [ -n "$memory" ]; then
			GOMAXPROCS=1 cost "$BENCH_WORK/bounded" bash -c "own -j 1 --mem $memory"
		fi
		cost "$BENCH_WORK/cores" bash -c own
		if command -v otf2-print >/dev/null; then
			cost "$BENCH_WORK/print" sh -c "otf2-print '$anchor' >/dev/null"
		fi
		if [ -n "$python" ]; then
			cost "$BENCH_WORK/script" "$python" bench/analyze/peer/profile.py "$anchor"
		fi
	done
	if [ -f "$BENCH_WORK/print" ]; then
		rows "$what, all" otf2-print full print
		rows "$what, --events none" otf2-print graph print "call graph and sums alone: no messages, no waits"
	else
		skip analysis "$what" otf2-print "needs Debian's otf2-tools"
	fi
	if [ -f "$BENCH_WORK/script" ]; then
		"$COPPICE" analyze "$anchor" -o "$BENCH_WORK/run.xtf" -f --progress none 2>/dev/null
		"$COPPICE" report "$BENCH_WORK/run.xtf" profile comm waits --format json >"$BENCH_WORK/report.json"
		"$python" bench/analyze/peer/same.py "$BENCH_WORK/script.out" "$BENCH_WORK/report.json"
		rows "$what, all" "Python script" full script "equal profile, messages, late senders"
		[ -z "$memory" ] || rows "$what, all, --mem $memory" "Python script" bounded script
		row analysis "$what, all: wall time" "Python script" "$(column 3 "$BENCH_WORK/cores")" "$(column 3 "$BENCH_WORK/script")" s less "coppice on all cores, as it does by itself"
	else
		skip analysis "$what" "Python script" "needs Debian's python3-otf2"
	fi
}

peer otf2-print "$(debian otf2-tools)"
peer "Python bindings" "$(debian python3-otf2)"
rounds=3 events=2M
quick && rounds=1 events=100k
"$COPPICE" demo -o "$BENCH_WORK/stencil" --spec "stencil:procs=16,jitter=5,events=$events" >/dev/null
anchor=$BENCH_WORK/stencil/traces.otf2
compare $rounds "stencil, 16 processes, $events events" 96M
for name in npb-cg.S-16 lulesh-s4-27; do
	if real "$name"; then
		compare $rounds "$name"
	else
		skip analysis "$name" otf2-print "no such real archive (--traces)"
	fi
done
