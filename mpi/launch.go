package mpi

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Launched reports whether mpirun, mpiexec or srun started this process as a rank. Batch scripts and shells inside of a Slurm step have
// some of the same variables, so a step counts only if it has several tasks.
func Launched() bool { return launched(terminal) }

func launched(terminal func() bool) bool {
	if n := slurmTasks(); n > 0 && ofStep(n) {
		return n > 1 && (os.Getenv("SLURM_PTY_PORT") == "" || !terminal()) // a step started in a shell of srun --pty inherits the variable
	}
	for _, name := range [...]string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// Ranks returns the number of ranks of a job without a launcher: one for each core. In a Slurm step of one task it is one, because memory
// was requested for one, except in a shell of srun --pty.
func Ranks() int { return ranks(terminal) }

func ranks(terminal func() bool) int {
	if slurmTasks() == 1 && (os.Getenv("PMIX_RANK") != "" || os.Getenv("PMI_RANK") != "") && (os.Getenv("SLURM_PTY_PORT") == "" || !terminal()) {
		return 1
	}
	return runtime.NumCPU()
}

// ofStep returns whether the n tasks of the Slurm step are the ranks, not processes of another launcher in it.
func ofStep(n int) bool {
	size := envInt("PMI_SIZE")
	return os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && os.Getenv("MPI_LOCALNRANKS") == "" && (size == 0 || size == n) &&
		(os.Getenv("PMIX_RANK") == "" || strings.HasPrefix(os.Getenv("PMIX_NAMESPACE"), "slurm."))
}

// terminal returns whether this process has a terminal.
func terminal() bool {
	f, err := os.Open("/dev/tty")
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// Start returns this rank's number and the number of ranks from the launcher's variables, before MPI starts; 0 if they are not set.
func Start() (rank, size int) {
	for _, name := range [...]string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"} {
		if os.Getenv(name) != "" {
			rank = envInt(name)
			break
		}
	}
	return rank, launcherSize()
}

// slurmTasks returns the number of tasks of this process's Slurm step, 0 outside of one.
func slurmTasks() int {
	if os.Getenv("SLURM_PROCID") == "" || os.Getenv("SLURM_STEP_ID") == "" {
		return 0
	}
	return envInt("SLURM_STEP_NUM_TASKS")
}

// launcherSize returns the number of ranks that the launcher has started, 0 if it is not known.
func launcherSize() int {
	for _, name := range [...]string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} {
		if n := envInt(name); n > 0 {
			return n
		}
	}
	return slurmTasks()
}

func envInt(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// checkLaunch returns an error if the launcher has started several processes but MPI found only one: each would do the whole job.
func checkLaunch(size int) error {
	n := launcherSize()
	if n <= 1 || size > 1 {
		return nil
	}
	return errf("init", ErrLaunch, "the launcher started %d processes, but each of them is alone with %s; "+
		"use the launcher of that library, or build for the launcher's", n, LibraryVersion())
}

// withoutOMPIO returns the value of OMPI_MCA_io to use. Open MPI's own file layer, OMPIO, reports success for writes that failed, so it
// must be excluded. A value that excludes it is kept.
func withoutOMPIO(value string) string {
	list := strings.Split(strings.TrimPrefix(value, "^"), ",")
	named := false
	for _, s := range list {
		named = named || strings.TrimSpace(s) == "ompio"
	}
	if value != "" && named == strings.HasPrefix(value, "^") {
		return value
	}
	return "^ompio"
}
