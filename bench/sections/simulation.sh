#!/usr/bin/env bash
# simulation: the network simulator next to LogGOPSim and next to SimGrid's replay of time-independent traces. All get the same
# messages and the same computation between them. Networks have the same parameters: L=2500 o=1500 g=1000 G=6 O=0 S=65535 ns.
#
# LogGOPSim has the rules of the event engine with its policy Arrival, so makespans and numbers of events must be equal. The
# dataflow engine, which predict uses where nothing contends, lets a process that waits copy no other message, so makespans
# differ a little. In SimGrid the messages of a host share one link in each direction by max-min, and there is no g.
#
# Figures are those of whole processes, median of the rounds: coppice makes the program first, LogGOPSim maps a binary schedule,
# smpirun reads text. An event is an operation or a message, as LogGOPSim counts.
. bench/sections/lib.sh

rounds=3
[ -z "$BENCH_QUICK" ] || rounds=1
speed="M events/CPU s"
own=$BENCH_WORK/predict
go build -C bench -o "$own" ./predict

# rate EVENTS FILE: million events per second, from the costs in FILE.
rate() { awk -v n="$1" -v s="$(column 1 "$2")" 'BEGIN { printf "%.4g\n", n / s / 1e6 }'; }

# said FILE: makespan and events of a run of coppice.
said() { sed 's/.*: \([0-9]*\) ns, \([0-9]*\) events.*/\1 \2/' "$1"; }

# percent A B: how much A is above B.
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.1f %%\n", 100 * (a / b - 1) }'; }

# memory FILE FILE: the peaks of coppice and the other.
memory() { printf 'memory %.0f and %.0f MiB\n' "$(column 2 "$1")" "$(column 2 "$2")"; }

# loggopsim PATTERN PROCESSES ITERATIONS RATE: RATE was measured elsewhere and stands in where there is no LogGOPSim.
loggopsim() {
	local what="$1, $2 processes, $3 iterations" dir=$BENCH_WORK/$1-$2 elsewhere=$4 makespan events note
	set -- "$1" "$2" "$3"
	say "$what"
	mkdir "$dir"
	if [ -n "$lgs" ]; then
		"$own" goal "$@" >"$dir/goal"
		"$lgs/txt2bin" -i "$dir/goal" -o "$dir/bin" >/dev/null
		rm "$dir/goal"
	fi
	for _ in $(seq $rounds); do
		cost "$dir/events" "$own" events "$@"
		cost "$dir/flow" "$own" flow "$@"
		[ -z "$lgs" ] || cost "$dir/peer" "$lgs/LogGOPSim" -f "$dir/bin" -b
	done
	rm -f "$dir/bin"
	read -r makespan events < <(said "$dir/events.out")
	note="makespan $(percent "$(said "$dir/flow.out")" "$makespan")"
	if [ -z "$lgs" ]; then
		row simulation "$what, event engine" LogGOPSim "$(rate "$events" "$dir/events")" "$elsewhere" "$speed" more "LogGOPSim 76451de measured elsewhere"
		row simulation "$what, dataflow engine" LogGOPSim "$(rate "$events" "$dir/flow")" "$elsewhere" "$speed" more "$note; LogGOPSim 76451de measured elsewhere"
		return
	fi
	if ! grep -q "Events: $events\b" "$dir/peer.out" || ! grep -q "Maximum finishing time at host [0-9]*: $makespan\b" "$dir/peer.out"; then
		echo "simulation: $what: the event engine says $makespan ns and $events events, LogGOPSim:" >&2
		cat "$dir/peer.out" >&2
		exit 1
	fi
	row simulation "$what, event engine" LogGOPSim "$(rate "$events" "$dir/events")" "$(rate "$events" "$dir/peer")" "$speed" more "equal makespan; $(memory "$dir/events" "$dir/peer")"
	row simulation "$what, dataflow engine" LogGOPSim "$(rate "$events" "$dir/flow")" "$(rate "$events" "$dir/peer")" "$speed" more "$note; $(memory "$dir/flow" "$dir/peer")"
}

# simgrid PATTERN PROCESSES ITERATIONS
simgrid() {
	local what="$1, $2 processes, $3 iterations" dir=$BENCH_WORK/simgrid-$1-$2 makespan events seconds
	if ! command -v smpirun >/dev/null; then
		skip simulation "$what, dataflow engine" "SimGrid SMPI" "needs Debian's libsimgrid-dev"
		return
	fi
	say "$what, SimGrid"
	mkdir "$dir"
	"$own" smpi "$dir" "$@"
	for _ in $(seq $rounds); do
		cost "$dir/flow" "$own" flow "$@"
		cost "$dir/peer" smpirun -no-privatize -np "$2" -platform "$dir/cluster.xml" -hostfile "$dir/hosts" -replay "$dir/list" \
			--cfg=network/model:CM02 --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1 --cfg=network/TCP-gamma:0 \
			--cfg=network/crosstraffic:0 --cfg=smpi/os:0:1.5e-6:0 --cfg=smpi/ois:0:1.5e-6:0 --cfg=smpi/or:0:1.5e-6:0 \
			--cfg=contexts/stack-size:128 --cfg=smpi/display-timing:yes 2>"$dir/messages"
	done
	seconds=$(sed -n 's/.*Simulated time: \([0-9.e-]*\) seconds.*/\1/p' "$dir/messages")
	read -r makespan events < <(said "$dir/flow.out")
	row simulation "$what, dataflow engine" "SimGrid SMPI" "$(rate "$events" "$dir/flow")" "$(rate "$events" "$dir/peer")" "$speed" more \
		"makespan $(percent "$makespan" "$(awk -v s="$seconds" 'BEGIN { printf "%.0f", s * 1e9 }')"); $(memory "$dir/flow" "$dir/peer")"
}

lgs=$BENCH_PEERS/loggopsim
if [ -x "$lgs/LogGOPSim" ] && [ -x "$lgs/txt2bin" ]; then
	peer LogGOPSim "$(cat "$lgs/version" 2>/dev/null || echo unknown), g++ -O3"
else
	lgs=
fi
[ -z "$(debian libsimgrid-dev)" ] || peer SimGrid "$(debian libsimgrid-dev)"

if [ -n "$BENCH_QUICK" ]; then
	loggopsim sweep2d 64 1 3.0
	simgrid stencil3d 64 2
	exit
fi
loggopsim sweep2d 1024 4 3.0
loggopsim stencil3d 1024 50 1.0
loggopsim allreduce_rd 1024 20 1.7
loggopsim stencil3d 8192 10 0.65
loggopsim allreduce_rd 8192 4 0.89
loggopsim sweep2d 8192 1 1.9
simgrid stencil3d 64 100
simgrid sweep2d 64 10
simgrid allreduce_rd 1024 5
simgrid sweep2d 1024 1
