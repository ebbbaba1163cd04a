#!/bin/bash
#SBATCH --job-name=coppice-analyze
#SBATCH --nodes=3
#SBATCH --ntasks=333
#SBATCH --ntasks-per-node=128
#SBATCH --mem-per-cpu=1280M
#SBATCH --time=00:35:00
#SBATCH --signal=USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=coppice-%j.out
# 20 TB
set -u
# EDIT partition or queue, account and other options of the site, next to those above
# EDIT module load ...   the MPI library that coppice was built with
export COPPICE_STATUS_FILE="coppice-$SLURM_JOB_ID.status"
# Slurm 22.05 does not tell when the job has to end.
export SLURM_JOB_END_TIME="${SLURM_JOB_END_TIME:-$(($(date +%s) + 2100))}"
# The shell outlives a TERM, to see how the step ends.
term=no
trap 'term=yes' TERM
srun --mpi=pmix --kill-on-bad-exit=0 coppice analyze run/traces.otf2 -o run.xtf --resume
rc=$?
# 75: stopped with a checkpoint. Back into the queue under the same number; jobs that wait for its end go on waiting. But a
# TERM to this shell that comes neither from preemption nor at the time limit is a scancel: that job stays away. A preempted
# job goes back however it ended: mpirun may have been ended on other nodes, and the last checkpoint is there.
again=no preempted=no
case $(scontrol show job "$SLURM_JOB_ID") in
*PreemptTime=None*) ;;
*PreemptTime=*) preempted=yes ;;
esac
if [ $rc -eq 75 ]; then again=yes; fi
if [ $rc -ne 0 ] && [ $preempted = yes ]; then again=yes; fi
if [ $term = yes ] && [ $preempted = no ] && [ "$(date +%s)" -lt "$SLURM_JOB_END_TIME" ]; then again=no; fi
if [ $again = yes ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 100 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $rc
