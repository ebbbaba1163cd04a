#!/usr/bin/env bash
# bench/scale/run.sh [SECTION...]
#
# What the ranks of `coppice analyze` count on growing numbers of ranks. Sections:
#
#   weak      goroutine ranks, one process of a generated stencil each
#   heap      the same, heap at the ends of stages
#   mpi       ranks of mpirun, up to 64: calls and heap
#   strong    one trace of 64 processes
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/scale" ./bench/scale
[ $# -gt 0 ] || set -- weak heap strong
for section in "$@"; do
	echo "## $section"
	case $section in
	weak) "$dir/scale" weak -stages ;;
	heap) "$dir/scale" weak -heap -stages ;;
	mpi)
		"$dir/scale" weak -mpi
		"$dir/scale" weak -mpi -heap -stages
		;;
	strong) "$dir/scale" strong -each 64 ;;
	*) echo "run.sh: no section $section" >&2; exit 1 ;;
	esac
	echo
done
