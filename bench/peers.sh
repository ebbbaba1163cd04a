#!/usr/bin/env bash
# Builds the tools of bench/run that no Debian package has, at the revisions that were measured, into a folder.
#
#   bench/peers.sh [-s FOLDER] [-o FOLDER] [NAME...]
#
# Names: pallas, pilgrim, loggopsim; all without one. -o is where they go, default out/bench/peers, which is what bench/run takes. Sources
# come from GitHub; with -s from FOLDER/OWNER+NAME/repo, bare clones of the same. Needs Debian's git, cmake, ninja-build and
# libzstd-dev; for pilgrim automake, libtool, autoconf-archive and Open MPI; for loggopsim re2c, gengetopt and libgraphviz-dev.
set -euo pipefail
cd "$(dirname "$0")/.."

sources= out=out/bench/peers
while getopts s:o: o; do
	case $o in
	s) sources=$OPTARG ;;
	o) out=$OPTARG ;;
	*) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# revision OWNER NAME COMMIT FOLDER: its files
revision() {
	local from=https://github.com/$1/$2
	[ -z "$sources" ] || from=$sources/$1+$2/repo
	git clone -q --bare "$from" "$work/git.$2"
	mkdir -p "$4"
	git --git-dir="$work/git.$2" archive "$3" | tar x -C "$4"
}

# installed NAME COMMIT
installed() { echo "$2" >"$out/$1/version"; }

pallas() {
	revision Pallas-Trace pallas d3bd7fc "$work/pallas"
	revision martinus unordered_dense v4.8.1 "$work/pallas/extern/unordered_dense"
	cmake -S "$work/pallas" -B "$work/pallas/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$out/pallas" \
		-DENABLE_OTF2=OFF -DBUILD_DOC=OFF -DENABLE_MPI_TEST=OFF
	ninja -C "$work/pallas/build" install
	installed pallas d3bd7fc
}

pilgrim() {
	revision pmodels pilgrim a2b828b "$work/pilgrim"
	(cd "$work/pilgrim" && ./autogen.sh && ./configure --prefix="$out/pilgrim" CC=mpicc CXX=mpicxx && make install)
	installed pilgrim a2b828b
}

loggopsim() {
	revision spcl LogGOPSim 76451de "$work/loggopsim"
	make -C "$work/loggopsim/src/LogGOPSim" CXXFLAGS="-std=c++11 -O3" CCFLAGS=-O3 LDFLAGS=-lcgraph all
	mkdir -p "$out/loggopsim"
	cp "$work"/loggopsim/src/LogGOPSim/{LogGOPSim,txt2bin} "$out/loggopsim"
	installed loggopsim 76451de
}

[ $# -gt 0 ] || set -- pallas pilgrim loggopsim
for name; do
	"$name" >&2
done
