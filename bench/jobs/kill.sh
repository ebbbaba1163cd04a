#!/bin/sh
# Interrupts analyses and predictions at random moments, counted in bytes that they have written: any rank or the
# launcher, by SIGKILL, SIGTERM, SIGUSR1 or SIGINT, with orphans and halted ranks that wake up later. Each round goes on
# with another number of ranks, and fails unless the bytes are those of an undisturbed run and nothing else is left.
#
#   bench/jobs/kill.sh [ROUNDS [SEED]]     default: 200 1
#
# It is the test TestKillAndResume with more rounds. It needs Open MPI's mpirun.
set -eu
cd "$(dirname "$0")/../.."
exec go test ./cmd/coppice -count 1 -timeout 4h -v -run '^TestKillAndResume$' -kills "${1:-200}" -killseed "${2:-1}"
