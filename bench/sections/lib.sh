# Sourced by the sections of bench/run: rows, medians, processor time. See the comment of bench/table for what a section gets
# and prints.
set -euo pipefail

# Open MPI does not start as root unless told to twice.
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# row SECTION WHAT PEER COPPICE PEER'S UNIT less|more [NOTE]: less or more is better.
row() {
	awk -v OFS='\t' -v s="$1" -v w="$2" -v p="$3" -v a="$4" -v b="$5" -v u="$6" -v better="$7" -v n="${8:-}" 'BEGIN {
		r = "-"
		if (a > 0 && b > 0) r = better == "less" ? b / a : a / b
		print s, w, p, a, b, u, r, n
	}'
}

# skip SECTION WHAT PEER WHY: a row that could not be measured.
skip() { printf '%s\t%s\t%s\t-\t-\t-\t-\tskipped: %s\n' "$@"; }

# peer NAME VERSION: a tool that was measured.
peer() { printf 'peer\t%s\t%s\n' "$1" "$2"; }

# debian PACKAGE: its version as installed, or nothing.
debian() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || true; }

quick() { [ -n "$BENCH_QUICK" ]; }

# real NAME: whether there is such a real archive; $anchor is its file.
real() {
	anchor=$BENCH_TRACES/$1/traces.otf2
	[ -f "$anchor" ]
}

say() { echo "   $*" >&2; }

# median: of the numbers on standard input.
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# cost FILE COMMAND...: runs it, appends "processor seconds, peak MiB, wall seconds" to FILE. Standard output goes to FILE.out. Of ranks
# on this machine time is that of all, with mpirun, and the peak that of the largest.
cost() {
	local to=$1 TIMEFORMAT='%3U %3S %3R' # the shell has milliseconds, GNU time has memory
	shift
	{ time /usr/bin/env time -q -f %M -o "$to.memory" "$@" >"$to.out" 2>&3; } 3>&2 2>"$to.time"
	paste -d ' ' "$to.time" "$to.memory" | awk '{ print $1 + $2, $4 / 1024, $3 }' >>"$to"
}

# column N FILE: median of a column of FILE.
column() { cut -d ' ' -f "$1" "$2" | median; }

# "${ranks[@]}" N COMMAND...: N ranks of a command.
ranks=(mpirun --oversubscribe --bind-to none -n)

# rest FILE FILE: what two files of costs have in addition to the wall time, as a note.
rest() {
	printf 'CPU %.2f and %.2f s, memory of the largest process %.0f and %.0f MiB' \
		"$(column 1 "$1")" "$(column 1 "$2")" "$(column 2 "$1")" "$(column 2 "$2")"
}
