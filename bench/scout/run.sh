#!/usr/bin/env bash
# Runs SCOUT of Scalasca on archives, with as many ranks as the archive has processes, and prints its waits, critical path and delay
# costs, a line for each archive, metric and call path (the comment of main.go); what jobs/testdata/scout.txt.gz has. Archives are copied
# first, as SCOUT writes next to them. To the errors: what SCOUT said where it failed. SCOUT is of bench/peers.sh.
#
#   bench/scout/run.sh [-p PEERS] ../shared/traces/otf2/* | gzip -9n >jobs/testdata/scout.txt.gz
#   bench/scout/run.sh [-p PEERS] -t ROUNDS ../shared/traces/otf2/*-16 ring:procs=16,events=10M,jitter=5
#
# With -c coppice analyses them too, and of each the sums of both are printed, metric by metric (compare.go).
#
#   bench/scout/run.sh [-p PEERS] -c ../shared/traces/otf2/npb-ft.S-4 wavefront:procs=4,events=100k
#
# With -t it measures instead, SCOUT and coppice analyze in turns, both under mpirun with as many ranks, and prints rows of bench/run:
# wall time with the start of mpirun, medians of the rounds. CPU is user and system time of all ranks, memory the peak of the largest.
# An archive that is not there is made, by coppice demo --spec.
. "$(dirname "${BASH_SOURCE[0]}")/../sections/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
peers=$root/out/bench/peers rounds=0 compare=
while getopts cp:t: o; do
	case $o in c) compare=yes ;; p) peers=$OPTARG ;; t) rounds=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
go build -C "$root" -pgo=cmd/coppice/analyze.pgo -o "$work" ./cmd/coppice
go build -C "$root/bench" -o "$work" ./scout

for folder; do
	name=$(basename "$folder") copy=$work/archive
	rm -rf "$copy" "$work"/{scout,own}.times
	if [ -d "$folder" ]; then
		cp -rL "$folder" "$copy" && chmod -R u+w "$copy"
	else
		"$work/coppice" demo -o "$copy" --spec "$folder" >/dev/null
	fi
	archive=$(echo "$copy"/*.otf2)
	if ! processes=$("$work/scout" "$archive") || [ "$processes" = 0 ]; then
		echo "$name: no processes of MPI" >&2
		continue
	fi
	if ! "${ranks[@]}" "$processes" "$peers/scout/scout.mpi" "$archive" >"$copy/log" 2>&1 || ! [ -s "$copy/scout.cubex" ]; then
		why="SCOUT failed: $(grep -v '^[ -]*$' "$copy/log" | tail -1)"
		[ "$rounds" = 0 ] || skip scout "$name, $processes ranks" SCOUT "$why"
		echo "$name: $why" >&2
		continue
	fi
	if [ "$compare" ]; then
		"$work/coppice" analyze --quiet --force -o "$work/run.xtf" "$archive"
		"$work/scout" "$archive" "$copy/scout.cubex" "$work/run.xtf" | sed "s|^|$name\t|"
		continue
	fi
	if [ "$rounds" = 0 ]; then
		"$work/scout" "$archive" "$copy/scout.cubex" | sed "s|^|$name\t|"
		continue
	fi
	for _ in $(seq "$rounds"); do
		rm -rf "$copy"/scout.*
		cost "$work/scout.times" "${ranks[@]}" "$processes" "$peers/scout/scout.mpi" "$archive" 2>"$copy/log"
		cost "$work/own.times" "${ranks[@]}" "$processes" "$work/coppice" analyze --quiet --force -o "$work/run.xtf" "$archive"
	done
	row scout "$name, $processes ranks" SCOUT "$(column 3 "$work/own.times")" "$(column 3 "$work/scout.times")" s less \
		"$(rest "$work/own.times" "$work/scout.times")"
done
