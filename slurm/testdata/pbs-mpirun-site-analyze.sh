#!/bin/bash
#PBS -N coppice-analyze
#PBS -l select=333:ncpus=1:mpiprocs=1:mem=1280mb
#PBS -l place=free
#PBS -l walltime=00:35:00
#PBS -q batch
#PBS -A proj
#PBS --comment=x y
#PBS -r y
#PBS -j oe
# 20 TB
set -u
module load openmpi/4.1
export A=1
cd "$PBS_O_WORKDIR" || exit
export COPPICE_STATUS_FILE="coppice-$PBS_JOBID.status"
timeout --signal=USR1 --preserve-status 1920 mpirun -n 333 coppice analyze run/traces.otf2 -o run.xtf --resume </dev/null &
pid=$!
# A signal interrupts the wait: it is passed on as USR1, which leaves the ranks time to save, and the wait goes on.
rc=127 term=no
trap 'again=yes; kill -USR1 "$pid" 2>/dev/null' USR1
trap 'again=yes term=yes; kill -USR1 "$pid" 2>/dev/null' TERM
while :; do
	again=no
	wait "$pid"
	got=$?
	if [ $got -ne 127 ]; then rc=$got; fi
	if [ $again = no ]; then break; fi
done
# 75: stopped with a checkpoint. PBS lets operators alone put a job back; without their right, submit it again.
if [ $rc -eq 75 ]; then
	qrerun "$PBS_JOBID" || echo "coppice: the checkpoint is saved: submit this script again to go on" >&2
fi
exit $rc
