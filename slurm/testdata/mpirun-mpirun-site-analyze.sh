#!/bin/bash
# 20 TB
set -u
module load openmpi/4.1
export A=1
export COPPICE_STATUS_FILE="coppice-$$.status"
mpirun -n 333 coppice analyze run/traces.otf2 -o run.xtf --resume </dev/null &
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
if [ $rc -eq 75 ]; then echo "coppice: the checkpoint is saved: run this script again to go on" >&2; fi
exit $rc
