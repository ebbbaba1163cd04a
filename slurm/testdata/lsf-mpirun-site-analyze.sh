#!/bin/bash
#BSUB -J coppice-analyze
#BSUB -n 333
#BSUB -R "span[ptile=128]"
#BSUB -R "rusage[mem=1280MB]"
#BSUB -W 35
#BSUB -q batch
#BSUB -P proj
#BSUB --comment=x y
#BSUB -r
#BSUB -Q 75
#BSUB -o coppice-%J.out
# 20 TB
set -u
module load openmpi/4.1
export A=1
export COPPICE_STATUS_FILE="coppice-$LSB_JOBID.status"
# 75: stopped with a checkpoint; with -Q 75 LSF puts the job back into the queue.
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
exit $rc
