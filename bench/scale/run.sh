#!/usr/bin/env bash
# bench/scale/run.sh [SECTION...]
#
# What the ranks of `coppice analyze` count on growing numbers of ranks. Sections:
#
#   weak      goroutine ranks, one process of a generated stencil each
#   heap      the same, heap at the ends of stages
#   mpi       ranks of mpirun, up to 128: calls and heap (2 minutes on two cores)
#   strong    one trace of 64 processes
#   simulate  lists of calls made from runs on 8 to 32 ranks, simulated on 64, 4096 and 65 536 ranks of cluster.toml
#   lengths   a stencil, a sweep and a collective program in two lengths, 2 to 4096 goroutine ranks
#   many      1024 and 4096 goroutine ranks (4 GB)
#   library   messages as Open MPI counts them, 16 and 64 ranks
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -C bench -o "$dir/scale" ./scale
[ $# -gt 0 ] || set -- weak heap strong simulate
for section in "$@"; do
	echo "## $section"
	case $section in
	weak) "$dir/scale" weak -stages ;;
	heap) "$dir/scale" weak -heap -stages -each 4 ;;
	mpi)
		"$dir/scale" weak -mpi -ranks 2,16,64,128
		"$dir/scale" weak -mpi -heap -stages -each 4 -ranks 1,4,16,64,128
		;;
	strong) "$dir/scale" strong -each 64 -ranks 1,2,4,8,16,32,64 ;;
	simulate)
		"$dir/scale" simulate -ranks 64,4096
		"$dir/scale" simulate -model -ranks 65536
		;;
	lengths) GOGC=25 "$dir/scale" lengths -raw -ranks 2,16,128,1024,4096 ;;
	many) GOGC=25 "$dir/scale" weak -raw -ranks 64,256,1024,4096 -program ring:iterations=5,every=10,seed=1 ;;
	library)
		for n in 16 64; do
			mkdir "$dir/$n"
			mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml_monitoring_enable 1 --mca pml_monitoring_enable_output 3 \
				--mca pml_monitoring_filename "$dir/$n/m" -n $n "$dir/scale" weak -dir "$dir/$n" >"$dir/$n/figures"
			for f in "$dir/$n"/m.*.prof; do
				awk -v f="$f" '/^[EI]\t/ { b += $4; m += $6 } END { split(f, p, "."); print m, b, p[length(p) - 1] }' "$f"
			done | sort -n | awk -v n="$n" '{ m[NR] = $1; b[NR] = $2; if ($3 == 0) zero = $1 " messages, " $2 " bytes" }
				END { print n " ranks: a rank sends " m[1] " to " m[NR] " messages, the median " m[int((NR + 1) / 2)] "; rank 0 " zero }'
		done
		;;
	*) echo "run.sh: no section $section" >&2; exit 1 ;;
	esac
	echo
done
