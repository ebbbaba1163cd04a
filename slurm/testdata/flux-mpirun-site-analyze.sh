#!/bin/bash
#flux: --job-name=coppice-analyze
#flux: --nodes=3
#flux: --nslots=333
#flux: --time-limit=35m
#flux: --queue=batch
#flux: --bank=proj
#flux: --comment=x y
#flux: --output=coppice-{{id}}.out
# 20 TB
set -u
module load openmpi/4.1
export A=1
export COPPICE_STATUS_FILE="coppice-$FLUX_JOB_ID.status"
# flux run passes no USR1 on, so the job is submitted, signalled by its number, and waited for.
job=$(flux submit --ntasks=333 coppice analyze run/traces.otf2 -o run.xtf --resume) || exit
( # the alarm before the time limit
	s=
	trap '[ -z "$s" ] || kill "$s"; exit' TERM
	sleep 1920 &
	s=$!
	wait "$s"
	flux job kill --signal=USR1 "$job"
) </dev/null >/dev/null 2>&1 &
alarm=$!
trap 'flux job kill --signal=USR1 "$job"' USR1 TERM
flux job attach "$job"
rc=$?
kill "$alarm" 2>/dev/null
if [ $rc -eq 75 ]; then echo "coppice: the checkpoint is saved: submit this script again to go on" >&2; fi
exit $rc
