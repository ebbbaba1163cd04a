#!/bin/bash
# What recording costs per call: bench/record/run.sh [CALLS [RUNS]]. Runs without the recorder, with it for several depths of call sites,
# with --io, outside of the part of the run that is recorded (outside), with the latest 64 MB alone (latest), and with mpiP where MPIP_LIBRARY names its libmpiP.so, built with libunwind, take turns. Printed is a table of the least ns of each, in
# Markdown, and bytes of an event. Needs mpicc, mpirun (Open MPI) and a built coppice in PATH or COPPICE.
set -euo pipefail
calls=${1:-1000000} runs=${2:-5} here=$(dirname "$0") coppice=${COPPICE:-coppice} cc=${CC:-mpicc}
kinds="plain off 1 8 io outside latest${MPIP_LIBRARY:+ mpiP-1 mpiP-8}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cc" -O2 -fno-optimize-sibling-calls -fno-inline -c -o "$work/library.o" "$here/library.c"
"$cc" -g -O2 -o "$work/loop" "$here/loop.c" "$work/library.o"
for _ in $(seq "$runs"); do
	for kind in $kinds; do
		case $kind in
		plain) mpirun -n 1 "$work/loop" "$calls" ;;
		mpiP-*) mpirun -n 1 -x LD_PRELOAD="$MPIP_LIBRARY" -x MPIP="-k${kind#mpiP-},-f$work" "$work/loop" "$calls" | grep -v '^mpiP' ;;
		*)
			rm -rf "$work/run"
			options=(--call-sites "$kind")
			case $kind in
			io) options=(--io) ;;
			outside) options=(--from 1h) ;;
			latest) options=(--keep-last 64M) ;;
			esac
			"$coppice" record -o "$work/run" --keep "${options[@]}" -- mpirun -n 1 "$work/loop" "$calls" 2>"$work/err"
			;;
		esac >>"$work/$kind"
	done
done
echo "| ns | ${kinds// / | } |"
printf '|---|'
for _ in $kinds; do printf -- '---|'; done
echo
for name in $(cut -d ' ' -f 1 "$work/plain" | awk '!seen[$0]++'); do
	line="| $name |"
	for kind in $kinds; do
		line+=" $(sed -n "s/^$name \([0-9.]*\)$/\1/p" "$work/$kind" | sort -n | head -1) |"
	done
	echo "$line"
done
rm -rf "$work/run"
"$coppice" record -o "$work/run" --keep -- mpirun -n 1 "$work/loop" "$calls" >/dev/null 2>"$work/err"
events=$("$coppice" info "$work/run/traces.otf2" | sed -n 's/^events *\([0-9 ,]*[0-9]\) .*/\1/p' | tr -d ' ,')
wc -c <"$work/run/recording/0.evt" | awk -v n="$events" '{ printf "%.1f bytes an event\n", $1 / n }'
