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
# 75: stopped with a checkpoint. PBS lets operators alone put a job back; without their right, submit it again.
if [ $rc -eq 75 ]; then
	qrerun "$PBS_JOBID" || echo "coppice: the checkpoint is saved: submit this script again to go on" >&2
fi
exit $rc
