#!/bin/bash
# What recording costs per program: bench/record/programs.sh [-n PROCESSES] [-r ROUNDS] [PROGRAM...]. LAMMPS (bench/predict/melt.lmp) and
# the examples of record/examples/ run in turns: plain, recorded without call sites and with those of depth 1 and 8, with --io, with --sample 1ms, with
# the latest 64 MB alone (latest), and with mpiP where
# MPIP_LIBRARY names its libmpiP.so, built with libunwind. Printed is a table, in Markdown, of the least seconds of processor time of
# all processes together, and how far plain runs lie apart. PROGRAM is a name of the table. The pipeline needs 3 processes or more.
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
shift $((OPTIND - 1))
chosen=" ${*:-LAMMPS stencil wavefront pipeline} "
here=$(cd "$(dirname "$0")" && pwd) coppice=${COPPICE:-coppice} record=$here/../../record
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpicc -g -O2 -I "$record/include" -o "$work/stencil" "$record/examples/stencil.c"
mpicc -g -O2 -I "$record/include" -o "$work/pipeline" "$record/examples/pipeline.c"
mpif90 -g -O2 -J "$work" -I "$record/include" -o "$work/wavefront" "$record/include/coppice_intervals.f90" "$record/examples/wavefront.f90"
kinds="plain off 1 8 io sample latest${MPIP_LIBRARY:+ mpiP-1 mpiP-8}"

cat >"$work/timed" <<'END'
#!/bin/bash
TIMEFORMAT='seconds %U %S'
{ time "$@" >/dev/null; } 2>&1
END
chmod +x "$work/timed"
seconds() { awk '$1 == "seconds" { s += $2 + $3 } END { printf "%.3f\n", s }'; } # of all processes

compare() {
	local name=$1 launch line
	launch="mpirun --oversubscribe --bind-to none -n $([[ $name == pipeline && $processes -lt 3 ]] && echo 3 || echo "$processes")"
	shift
	[[ $chosen == *" $name "* ]] || return 0
	for _ in $(seq "$rounds"); do
		for kind in $kinds; do
			case $kind in
			plain) $launch "$work/timed" "$@" ;;
			mpiP-*) $launch -x LD_PRELOAD="$MPIP_LIBRARY" -x MPIP="-k${kind#mpiP-},-f$work" "$work/timed" "$@" 2>"$work/err" ;;
			*)
				rm -rf "$work/run"
				options=(--call-sites "$kind")
				case $kind in
				io) options=(--io) ;;
				sample) options=(--sample 1ms) ;;
				latest) options=(--keep-last 64M) ;;
				esac
				"$coppice" record --cc mpicc "${options[@]}" -o "$work/run" -- $launch "$work/timed" "$@" 2>"$work/err"
				;;
			esac | seconds >>"$work/$name.$kind"
		done
	done
	line="| $name |"
	for kind in $kinds; do line+=" $(sort -n "$work/$name.$kind" | head -1) |"; done
	echo "$line $(sort -n "$work/$name.plain" | awk '{ x[NR] = $1 } END { printf "%.1f", 100 * (x[NR] / x[1] - 1) }') % |"
}

echo "| s | ${kinds// / | } | spread |"
printf '|---|'
for _ in $kinds; do printf -- '---|'; done
echo '---|'
compare LAMMPS lmp -in "$here/../predict/melt.lmp" -log none
compare stencil "$work/stencil" --size=512 --steps=4000
compare wavefront "$work/wavefront" --size=512 --steps=100
compare pipeline "$work/pipeline" --size=512 --steps=200
