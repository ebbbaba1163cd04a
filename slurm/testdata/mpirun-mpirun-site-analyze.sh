#!/bin/bash
# 20 TB
set -u
module load openmpi/4.1
export A=1
export COPPICE_STATUS_FILE="coppice-$$.status"
# Signals are passed on as USR1, which leaves the ranks time to save; mpirun itself would end them a second after a TERM.
pid= rc=127 term=no interrupted=no
trap 'interrupted=yes; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' USR1
trap 'interrupted=yes term=yes; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' TERM
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
if [ $rc -eq 75 ]; then echo "coppice: the checkpoint is saved: run this script again to go on" >&2; fi
exit $rc
