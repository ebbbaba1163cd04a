#!/bin/bash
# What coppice levers says of changes of NPB CG and LAMMPS, next to what they do.
#
#   bench/levers/programs.sh WORK NPB3.4-MPI   # builds the programs in the folder WORK, with the sources of NPB 3.4
#   bench/levers/programs.sh WORK [FLAG...]    # measures them: flags of bench/tool levers, such as -runs 7
#
# Needs gcc, mpif90, mpirun (Open MPI), lmp, and coppice in bin or COPPICE. CG gets its sizes from its arguments: rows, nonzeros of a
# row, iterations, columns of process 0 (0: half of them), lines that it prints in each iteration. It has no iteration before its clock
# starts. Up to 2 000 columns of a process half of them are half the work: vectors stay in the first cache. LAMMPS calls three of its
# functions through a library that is preloaded, for the recorder.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(realpath -m "$1")
shift

build() {
	local npb=$1
	mkdir -p "$work/build"
	cat >"$work/build/npbparams.h" <<'X'
      integer :: na, nonzer, niter, columns, lines
      double precision, parameter :: shift = 20d0, rcond = 0.1d0
      logical, parameter :: convertdouble = .false.
      character(1), parameter :: npbversion = '-', compiletime = '-', cs1 = '-', cs2 = '-', cs3 = '-', cs4 = '-', &
     & cs5 = '-', cs6 = '-', cs7 = '-'
X
	sed 's/naz = na\b/naz = 2*na/' "$npb/CG/cg_data.f90" >"$work/build/cg_data.f90"
	sed -e 's/do it = 1, 1$/do it = 1, 0/' -e '/call mpi_init( ierr )/a call sizes' -e '/^!  Transpose exchange processor/i call cut' \
		-e '/write( \*,9001 ) it/a call print_state(it)' -e "/call mpi_finalize/i if (me .eq. root) write(*, *) 'seconds', tmax" "$npb/CG/cg.f90" - >"$work/build/cg.f90" <<'X'
      subroutine sizes
      use cg_data
      integer :: i, given(5)
      character(20) :: text
      do i = 1, 5
         call get_command_argument(i, text)
         read(text, *) given(i)
      end do
      na = given(1); nonzer = given(2); niter = given(3); columns = given(4); lines = given(5)
      end

      subroutine cut
      use cg_data
      if (columns .eq. 0) return
      firstcol = merge(1, columns + 1, proc_col .eq. 0)
      lastcol = merge(columns, na, proc_col .eq. 0)
      send_start = firstcol
      send_len = lastcol - firstcol + 1
      end

      subroutine print_state(it)
      use cg_data
      integer :: it, j
      if (lines .eq. 0) return
      if (it .eq. 1) open(11, status='scratch')
      do j = 1, lines
         write(11, '(i8, e21.14)') j, z(1 + mod(j, lastcol))
      end do
      end
X
	(cd "$work/build" && mpif90 -O3 -I. -w -fallow-argument-mismatch -rdynamic -finstrument-functions -finstrument-functions-exclude-function-list=makea,sparse,sprnvc,icnvrt,vecset,randlc \
		-o ../cg "$npb"/CG/mpinpb.f90 cg_data.f90 cg.f90 "$npb"/common/{print_results,get_active_nprocs,randi8,timers}.f90)
	gcc -O1 -finstrument-functions -shared -fPIC -o "$work/regions.so" -x c - <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#define REGION(name, symbol) \
	__attribute__((noinline)) void name(void (*next)(void *, int, int), void *self, int a, int b) { next(self, a, b); } \
	__attribute__((no_instrument_function)) void symbol(void *self, int a, int b) { \
		static void (*next)(void *, int, int); \
		if (!next) next = (void (*)(void *, int, int))dlsym(RTLD_NEXT, #symbol); \
		name(next, self, a, b); \
	}
REGION(pair, _ZN9LAMMPS_NS9PairLJCut7computeEii)
REGION(neighbor, _ZN9LAMMPS_NS8Neighbor5buildEi)
REGION(dump, _ZN9LAMMPS_NS4Dump5writeEv)
X
	sed '1a processors 2 1 1' bench/predict/melt.lmp | sed -e '/^fix/i neigh_modify every ${every} delay 0 check no\nbalance 1.0 x ${split}' \
		-e "s|^thermo.*|if \"\${dumps} > 0\" then \"dump 1 all atom \${dumps} $work/melt.dump\"|" -e 's/^run.*/run 600/' >"$work/melt.lmp"
	cat >"$work/melt" <<X
#!/bin/sh
# melt SPLIT DUMPS EVERY
LD_PRELOAD=$work/regions.so\${LD_PRELOAD:+:\$LD_PRELOAD} exec lmp -log none -in $work/melt.lmp -var split "\$1" -var dumps "\$2" -var every "\$3"
X
	chmod +x "$work/melt"
}

if [[ -d ${1:-} ]]; then
	build "$(realpath "$1")"
	exit
fi
coppice=$(realpath "${COPPICE:-bin/coppice}")
scale='--scale region:conj_grad_=0.5 --scale call:*@conj_grad_=0.5'
bench/tool levers -coppice "$coppice" -processes 2 -record "--cc mpicc" "$@" \
	"CG: an even cut of the columns, 1 600 for each process in place of 2 000 and 1 200=$work/cg 3200 15 150 2000 0=$work/cg 3200 15 150 1600 0=function=conj_grad_=saved_balanced" \
	"CG: half the columns for one process, 1 000 in place of 2 000; the other one keeps 1 000=$work/cg 3000 11 250 2000 0=$work/cg 2000 11 250 1000 0=function=conj_grad_=saved_50_percent" \
	"CG: half the output=$work/cg 4000 15 80 0 8000=$work/cg 4000 15 80 0 4000=function=print_state_=saved_50_percent" \
	"CG: half the rows, 2 000 in place of 4 000=$work/cg 4000 15 150 0 0=$work/cg 2000 15 150 0 0=change=$scale" \
	"CG: half the rows of class A, 7 000 in place of 14 000=$work/cg 14000 11 60 0 0=$work/cg 7000 11 60 0 0=change=$scale" \
	"LAMMPS: an even cut of the domain in place of 35 % and 65 %=$work/melt 0.35 0 10=$work/melt 0.5 0 10=change=--balance region:pair --balance region:neighbor" \
	"LAMMPS: half as many dumps=$work/melt 0.5 2 10=$work/melt 0.5 4 10=change=--scale region:dump=0.5 --scale call:*@dump=0.5" \
	"LAMMPS: neighbour lists every 10 steps in place of 5=$work/melt 0.5 0 5=$work/melt 0.5 0 10=function=neighbor=saved_50_percent"
