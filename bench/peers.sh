#!/usr/bin/env bash
# Builds the tools of bench/run that no Debian package has, at the revisions that were measured, into a folder.
#
#   bench/peers.sh [-s FOLDER] [-o FOLDER] [NAME...]
#
# Names: pallas, pilgrim, loggopsim and scout, Scalasca's trace analyser (three minutes of processor time); all without one. -o is where
# they go, default out/bench/peers, which is what bench/run takes. Sources come from GitHub; with -s from FOLDER/OWNER+NAME/repo, bare
# clones of the same; scout's from the folder or clone SCALASCA_SRC where it is set. Needs Debian's git, cmake, ninja-build and libzstd-dev; for
# pilgrim automake, libtool, autoconf-archive and Open MPI; for loggopsim re2c, gengetopt and libgraphviz-dev; for scout Open MPI and
# zlib1g-dev.
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

# scout reads OTF2 with the library that comes with it. Of collectives it does not know those that create handles; they become barriers,
# which its patterns leave out by the names of the calls. It knows MPI by the file of a region, where other tracers than Score-P have a file
# of the program, so it gets the paradigm instead. It is C++ of 1998. Its generated files are as old as their sources, so that
# nothing is made again.
scout() {
	local src=$work/scalasca build=$work/scalasca.build
	case ${SCALASCA_SRC:-} in
	'') revision AishwaryaDoosa scalasca-2.5 25067c27 "$src" ;;
	*)
		mkdir "$src"
		if git -C "$SCALASCA_SRC" rev-parse --git-dir >/dev/null 2>&1; then
			git -C "$SCALASCA_SRC" archive HEAD | tar x -C "$src"
		else
			cp -r "$SCALASCA_SRC/." "$src"
		fi
		;;
	esac
	sed -i '/^otf2ConvertCollectiveType/,/switch/s/switch/if (type > OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK) return MpiCollEnd_rep::BARRIER; switch/' \
		"$src/src/pearl/base/Otf2TypeHelpers.cpp"
	sed -i 's/if (file == "MPI")/if (paradigm == Paradigm::MPI \&\& name.compare(0, 4, "MPI_") == 0)/' "$src/src/pearl/base/Region.cpp"
	find "$src" -exec touch -d 2020-01-01 {} +
	mkdir "$build"
	(
		cd "$build"
		"$src/configure" --with-mpi=openmpi --without-otf2 --without-cubew PYTHON=: PYTHON_FOR_GENERATOR=: CFLAGS=-O2 CXXFLAGS='-std=gnu++98 -O2'
		make -j2 -C vendor/otf2/build-backend libotf2.la
		make -j2 -C vendor/cubew/build-backend libcube4w.la
		make -j2 -C build-backend libpearl.replay.la libpearl.base.la libpearl.thread.ser.la libscout.common.la
		make -j2 -C build-mpi scout.mpi
	)
	mkdir -p "$out/scout"
	"$build/build-mpi/libtool" --mode=install install "$build/build-mpi/scout.mpi" "$out/scout"
	installed scout 25067c27
}

[ $# -gt 0 ] || set -- pallas pilgrim loggopsim scout
for name; do
	"$name" >&2
done
