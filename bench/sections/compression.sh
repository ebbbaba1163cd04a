#!/usr/bin/env bash
# compression: bytes of the same events as an OTF2 archive, through zstd, as a Pallas trace, and as the call graph of
# analyze --events none; and an MPI program recorded by Pilgrim and by coppice record. Whole files, definitions included.
. bench/sections/lib.sh

bytes() { find "$@" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }'; }
each() { awk -v b="$1" -v n="$2" 'BEGIN { print b / n }'; } # of bytes, events

pallas=$BENCH_PEERS/pallas
has_pallas=
if [ -d "$pallas" ] && "${CC:-cc}" -O3 -march=native -I"$pallas/include" -o "$BENCH_WORK/pallas" bench/ccg/peer/pallas.c \
	-L"$pallas/lib" -Wl,-rpath,"$pallas/lib" -lpallas -lotf2 2>"$BENCH_WORK/log"; then
	has_pallas=1
	peer Pallas "$(cat "$pallas/version"), its default settings (zstd level 5)"
fi

# pallas_rows WHAT ANCHOR EVENTS COPPICE'S
pallas_rows() {
	local kind note
	for kind in recorded renumbered; do
		note="requests as recorded: each is new to Pallas"
		[ $kind = recorded ] || note="requests renumbered first, so that calls are equal"
		if [ -z "$has_pallas" ]; then
			skip compression "$1: exact" Pallas "needs pallas in --peers (bench/peers.sh) and libotf2-trace-dev"
			continue
		fi
		for _ in $(seq $rounds); do
			rm -rf "$BENCH_WORK/trace"
			cost "$BENCH_WORK/pallas.$kind" "$BENCH_WORK/pallas" $kind "$2" "$BENCH_WORK/trace"
		done
		if [ "$("$pallas/bin/pallas_print" "$BENCH_WORK/trace/trace.pallas" | wc -l)" -ne $(($3 + 1)) ]; then # and a heading
			echo "compression: $1: pallas_print finds another number of events than $3" >&2
			exit 1
		fi
		row compression "$1: exact" Pallas "$4" "$(each "$(bytes "$BENCH_WORK/trace")" "$3")" "B/event" less "$note"
	done
}

# compare WHAT ANCHOR: an archive
compare() {
	local what=$1 anchor=$2 folder run=$BENCH_WORK/run.xtf events archive
	say "$what"
	folder=$(dirname "$anchor")
	rm -f "$BENCH_WORK"/*.out "$BENCH_WORK/graph" "$BENCH_WORK"/pallas.*
	for _ in $(seq $rounds); do
		GOMAXPROCS=1 cost "$BENCH_WORK/graph" "$COPPICE" analyze "$anchor" -o "$run" -f --events none --progress none -j 1 2>/dev/null
	done
	events=$("$COPPICE" report "$run" summary --format json | sed -n 's/^ "events": \([0-9]*\),/\1/p')
	own=$(each "$(stat -c %s "$run")" "$events")
	archive=$(each "$(bytes "$anchor" "${anchor%.otf2}.def" "${anchor%.otf2}")" "$events")
	row compression "$what: exact" OTF2 "$own" "$archive" "B/event" less
	if command -v zstd >/dev/null; then
		z=$(each "$(tar c -C "$folder" "$(basename "$anchor")" "$(basename "${anchor%.otf2}").def" "$(basename "${anchor%.otf2}")" | zstd -19 -T1 -q -c | wc -c)" "$events")
		row compression "$what: exact" "OTF2, zstd -19" "$own" "$z" "B/event" less "zstd's cannot be asked anything"
	else
		skip compression "$what: exact" "OTF2, zstd -19" "needs Debian's zstd"
	fi
	pallas_rows "$what" "$anchor" "$events" "$own"
	"$COPPICE" analyze "$anchor" -o "$run" -f --events none --deviation 10%,1us --progress none -j 1 2>/dev/null
	row compression "$what: times within 10 % or 1 us" OTF2 "$(each "$(stat -c %s "$run")" "$events")" "$archive" "B/event" less "OTF2 exact"
	"$COPPICE" analyze "$anchor" -o "$run" -f --progress none -j 1 2>/dev/null
	row compression "$what: calls and messages as rows too, indexed" OTF2 "$(each "$(stat -c %s "$run")" "$events")" "$archive" "B/event" less
	if [ -n "$has_pallas" ]; then
		row compression "$what: time to make" Pallas "$(column 1 "$BENCH_WORK/graph" | awk -v n="$events" '{ print $1 / n * 1e9 }')" \
			"$(column 1 "$BENCH_WORK/pallas.renumbered" | awk -v n="$events" '{ print $1 / n * 1e9 }')" "CPU ns/event" less "from OTF2, requests renumbered"
	fi
}

# halo PROCESSES STEPS [varying]: a program recorded by both
halo() {
	local what="halo exchange, $1 processes, $2 steps${3:+, sizes change}" mode total calls own note
	local launch="mpirun --oversubscribe --bind-to none -n $1"
	say "$what"
	calls=$(awk -v n="$1" -v s="$2" 'BEGIN { print n * (9 * s + int(s / 10)) }')
	rm -rf "$BENCH_WORK/recorded"
	"$COPPICE" record -o "$BENCH_WORK/recorded" -- $launch "$BENCH_WORK/halo" "$2" ${3:-} >&2
	for mode in LOSSLESS ZSTD AGGREGATED; do
		rm -rf "$BENCH_WORK/pilgrim"
		mkdir "$BENCH_WORK/pilgrim"
		if ! (cd "$BENCH_WORK/pilgrim" && $launch -x PILGRIM_TIMING_MODE=$mode -x LD_PRELOAD="$pilgrim" "$BENCH_WORK/halo" "$2" ${3:-} >log 2>&1); then
			skip compression "$what: $mode" Pilgrim "Pilgrim aborted: $(grep -m1 -o 'Assertion.*failed' "$BENCH_WORK/pilgrim/log" || echo 'see its log')"
			continue
		fi
		total=$(bytes "$BENCH_WORK/pilgrim/pilgrim-logs")
		case $mode in
		LOSSLESS) note="all times of calls" deviation=0 ;;
		ZSTD) note="Pilgrim keeps how long calls take, not when they begin" deviation=0 ;;
		AGGREGATED) note="Pilgrim keeps means alone, coppice times within 10 % or 1 us" deviation=10%,1us ;;
		esac
		"$COPPICE" analyze "$BENCH_WORK/recorded/traces.otf2" -o "$BENCH_WORK/run.xtf" -f --events none --deviation $deviation --progress none -j 1 2>/dev/null
		row compression "$what: $mode" Pilgrim "$(each "$(stat -c %s "$BENCH_WORK/run.xtf")" "$calls")" "$(each "$total" "$calls")" "B/MPI call" less "$note"
	done
}

command -v zstd >/dev/null && peer zstd "$(zstd --version | grep -o 'v[0-9.]*' | head -1)"
events=1M rounds=3
quick && events=100k rounds=1
"$COPPICE" demo -o "$BENCH_WORK/stencil" --spec "stencil:procs=16,jitter=5,events=$events" >/dev/null
compare "stencil, 16 processes, jitter 5 %, $events events" "$BENCH_WORK/stencil/traces.otf2"
names="npb-cg.S-16 lammps-melt-16 lulesh-s4-27 sweep3d-16"
quick && names=lulesh-s4-27
for name in $names; do
	if real "$name"; then
		compare "$name" "$anchor"
	else
		skip compression "$name: exact" OTF2 "no such real archive (--traces)"
	fi
done

pilgrim=$BENCH_PEERS/pilgrim/lib/libpilgrim.so.0.0.0
if [ -f "$pilgrim" ] && mpicc -O2 -o "$BENCH_WORK/halo" bench/ccg/peer/halo.c 2>"$BENCH_WORK/log"; then
	peer Pilgrim "$(cat "$BENCH_PEERS/pilgrim/version")"
	steps=2000
	quick && steps=100
	halo 4 $steps
	halo 4 $steps varying
else
	skip compression "halo exchange" Pilgrim "needs pilgrim in --peers (bench/peers.sh) and Open MPI"
fi
