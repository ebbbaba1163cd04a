package mpi

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Launched tells whether this process was started as a rank by mpirun, mpiexec or srun. A batch script sets some of
// Slurm's variables too, and a shell from srun has those of its step, also of PMI: of a step only several tasks count.
func Launched() bool { return launched(terminal) }

func launched(terminal func() bool) bool {
	if n := slurmTasks(); n > 0 && ofStep(n) {
		return n > 1 && (os.Getenv("SLURM_PTY_PORT") == "" || !terminal()) // a step in a shell of srun --pty has the variable, too
	}
	for _, name := range [...]string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// Ranks is how many ranks a job has that no launcher started, unless it is told: one for each core, and one in a step of one task,
// which has as much memory as that was to take, but not in a shell of srun --pty.
func Ranks() int { return ranks(terminal) }

func ranks(terminal func() bool) int {
	if slurmTasks() == 1 && (os.Getenv("PMIX_RANK") != "" || os.Getenv("PMI_RANK") != "") && (os.Getenv("SLURM_PTY_PORT") == "" || !terminal()) {
		return 1
	}
	return runtime.NumCPU()
}

// ofStep tells whether ranks are the n tasks of a job step, and not of another launcher in it.
func ofStep(n int) bool {
	size := envInt("PMI_SIZE")
	return os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && os.Getenv("MPI_LOCALNRANKS") == "" && (size == 0 || size == n) &&
		(os.Getenv("PMIX_RANK") == "" || strings.HasPrefix(os.Getenv("PMIX_NAMESPACE"), "slurm."))
}

// terminal tells whether this process has one.
func terminal() bool {
	f, err := os.Open("/dev/tty")
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// Start is the number of this rank and how many there are, as the launcher says before MPI starts; 0 for what it does not say.
func Start() (rank, size int) {
	for _, name := range [...]string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"} {
		if os.Getenv(name) != "" {
			rank = envInt(name)
			break
		}
	}
	return rank, launcherSize()
}

// slurmTasks is the number of tasks of the job step that this process belongs to, 0 outside of one.
func slurmTasks() int {
	if os.Getenv("SLURM_PROCID") == "" || os.Getenv("SLURM_STEP_ID") == "" {
		return 0
	}
	return envInt("SLURM_STEP_NUM_TASKS")
}

// launcherSize is the number of ranks that the launcher says it started, 0 when it does not say.
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

// checkLaunch compares what the launcher started with the ranks that found each other. A binary that cannot join its
// launcher would otherwise do the whole job n times over.
func checkLaunch(size int) error {
	n := launcherSize()
	if n <= 1 || size > 1 {
		return nil
	}
	return errf("init", ErrLaunch, "the launcher started %d processes, but each of them is alone with %s; "+
		"use the launcher of that library, or build for the launcher's", n, LibraryVersion())
}

// withoutOMPIO returns the value of OMPI_MCA_io to use: OMPIO, Open MPI's own file layer, reports success for writes
// that failed, and must be excluded. A value that excludes it stays.
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
