#!/bin/bash
# Run time of programs with and without the recorder: bench/record/programs.sh [-n PROCESSES] [-r ROUNDS]. LAMMPS
# (bench/predict/melt.lmp) and the Fortran wavefront of record/examples/ run in turns, plain and recorded. Printed are the seconds of all
# runs, from start to end of the process that takes longest, the medians, their ratio, and how far runs of a kind lie apart.
# Needs mpicc, mpif90, mpirun (Open MPI), lmp, and coppice in PATH or COPPICE.
set -euo pipefail
processes=2 rounds=7
while getopts n:r: o; do
	case $o in
	n) processes=$OPTARG ;;
	r) rounds=$OPTARG ;;
	*) exit 2 ;;
	esac
done
here=$(cd "$(dirname "$0")" && pwd) coppice=${COPPICE:-coppice}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpif90 -O2 -J "$work" -I "$here/../../record/include" -o "$work/wavefront" "$here/../../record/include/coppice_intervals.f90" "$here/../../record/examples/wavefront.f90"
launch="mpirun --oversubscribe --bind-to none -n $processes"

cat >"$work/timed" <<'EOF'
#!/bin/bash
TIMEFORMAT='%R seconds'
{ time "$@" >"$0.out"; } 2>&1
EOF
chmod +x "$work/timed"
seconds() { sed -n 's/^\([0-9.]*\) seconds$/\1/p' | sort -n | tail -1; } # of the process that took longest

compare() {
	local name=$1
	shift
	rm -f "$work"/plain "$work"/recorded
	for _ in $(seq "$rounds"); do
		$launch "$work/timed" "$@" | seconds >>"$work/plain"
		rm -rf "$work/run"
		"$coppice" record --cc mpicc -o "$work/run" -- $launch "$work/timed" "$@" 2>"$work/err" | seconds >>"$work/recorded"
	done
	for kind in plain recorded; do
		sort -n "$work/$kind" | awk -v n="$name, $kind" '{ x[NR] = $1 } END {
			printf "%-20s median %.3f s, spread %.1f %%:", n, x[int((NR + 1) / 2)], 100 * (x[NR] / x[1] - 1)
			for (i = 1; i <= NR; i++) printf " %.3f", x[i]
			print "" }'
	done
	paste <(sort -n "$work/plain") <(sort -n "$work/recorded") | awk -v n="$name" '
		{ p[NR] = $1; r[NR] = $2 }
		END { m = int((NR + 1) / 2); printf "%-20s recorded / plain %.3f\n", n, r[m] / p[m] }'
}

compare LAMMPS lmp -in "$here/../predict/melt.lmp" -log none
compare wavefront "$work/wavefront" --size 512 --steps 100
