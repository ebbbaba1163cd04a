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
# Signals are passed on as USR1, which leaves the ranks time to save; mpirun itself would end them a second after a TERM.
pid= rc=127 term=no interrupted=no
trap 'interrupted=yes; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' USR1
trap 'interrupted=yes term=yes; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' TERM
( # the alarm before the time limit
	s=
	trap '[ -z "$s" ] || kill "$s"; exit' TERM
	sleep 1920 &
	s=$!
	wait "$s"
	kill -USR1 $$
) </dev/null >/dev/null 2>&1 &
alarm=$!
mpirun -n 333 coppice analyze run/traces.otf2 -o run.xtf --resume </dev/null &
pid=$!
if [ $interrupted = yes ]; then kill -USR1 "$pid" 2>/dev/null; fi # a signal that came before there was a process
while :; do # a signal interrupts the wait
	interrupted=no
	wait "$pid"
	got=$?
	if [ $got -ne 127 ]; then rc=$got; fi
	if [ $interrupted = no ]; then break; fi
done
kill "$alarm" 2>/dev/null
exit $rc
