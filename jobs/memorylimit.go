package jobs

import (
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/mpi"
)

// memoryLimit is an amount of memory, and what limits it.
type memoryLimit struct {
	bytes int64
	who   string
}

func (l *memoryLimit) lower(bytes int64, who string) {
	if bytes > 0 && bytes < l.bytes {
		*l = memoryLimit{bytes, who}
	}
}

// surroundings is this process's view of its machine and its batch system. Tests make their own.
type surroundings struct {
	read     func(file string) ([]byte, error)
	env      func(name string) string
	launched bool  // ranks are processes
	heap     int64 // GOMEMLIMIT of this process; 0: none
}

func around() *surroundings {
	s := &surroundings{read: os.ReadFile, env: os.Getenv, launched: mpi.Launched()}
	if os.Getenv("GOMEMLIMIT") != "" { // else the limit is that of an earlier job of this process
		s.heap = debug.SetMemoryLimit(-1)
	}
	return s
}

// defaultMemory returns 0.8 of the memory that each of so many ranks on this node may use: the least of what Slurm, the cgroups, the
// machine and GOMEMLIMIT allow. The rest is for the MPI library.
func defaultMemory(ranks int) int64 {
	s := around()
	l := s.limit(ranks)
	mem := l.bytes / 5 * 4
	if own := s.ownHeap(ranks); own > 0 { // it limits the heap, without the MPI library
		mem = min(mem, own)
	}
	return mem
}

// limit returns the most memory that each of so many ranks on this node may use.
func (s *surroundings) limit(ranks int) memoryLimit {
	ranks = max(ranks, 1)
	l := memoryLimit{s.machine(), "the machine"}
	l.lower(s.cgroups(), "its cgroup")
	l.bytes /= int64(ranks)
	if v := s.addresses(); s.launched {
		l.lower(v, "its limit of addresses (ulimit -v)")
	} else {
		l.lower((v+int64(ranks)-1)/int64(ranks), "its limit of addresses (ulimit -v)")
	}
	if v := s.megabytes("SLURM_MEM_PER_NODE"); v > 0 {
		l.lower(v/int64(ranks), "Slurm (SLURM_MEM_PER_NODE)")
	}
	if v := s.megabytes("SLURM_MEM_PER_CPU"); v > 0 {
		switch cpus := s.number("SLURM_CPUS_ON_NODE"); {
		case cpus > 0: // of the job step
			l.lower(multiply(v, cpus)/int64(ranks), "Slurm (SLURM_MEM_PER_CPU)")
		case s.launched:
			l.lower(multiply(v, max(s.number("SLURM_CPUS_PER_TASK"), 1)), "Slurm (SLURM_MEM_PER_CPU)")
		default:
			l.lower(multiply(v, max(s.number("SLURM_CPUS_PER_TASK"), 1))/int64(ranks), "Slurm (SLURM_MEM_PER_CPU)")
		}
	}
	return l
}

// ownHeap returns the share of GOMEMLIMIT of one rank, 0 for none.
func (s *surroundings) ownHeap(ranks int) int64 {
	if s.heap <= 0 || s.heap == math.MaxInt64 {
		return 0
	}
	if s.launched {
		return s.heap
	}
	return s.heap / int64(max(ranks, 1))
}

func (s *surroundings) machine() int64 {
	if v := s.field("/proc/meminfo", "MemTotal:"); v > 0 && v < math.MaxInt64>>10 {
		return v << 10
	}
	return 4 << 30 // a cautious guess if the system does not say
}

// addresses returns how many bytes the limit of addresses leaves this process, 0 for no limit.
func (s *surroundings) addresses() int64 {
	limit := s.field("/proc/self/limits", "Max address space")
	if limit <= 0 {
		return 0
	}
	return max(limit-multiply(s.field("/proc/self/status", "VmSize:"), 1<<10), 1)
}

// field returns the number after a name at the start of a line, 0 for none.
func (s *surroundings) field(file, name string) int64 {
	b, _ := s.read(file)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			v, _ := strconv.ParseInt(text, 10, 64)
			return v
		}
	}
	return 0
}

// cgroups returns the least memory limit of the process's cgroups and their parents, of both versions; 0 for none. Slurm nests cgroups of
// job, step and task.
func (s *surroundings) cgroups() (least int64) {
	note := func(root, group, file string) {
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			if v, ok := s.readNumber(path.Join(root, dir, file)); ok && (least == 0 || v < least) {
				least = v
			}
			if dir == "/" {
				return
			}
		}
	}
	const v1, v2 = "memory.limit_in_bytes", "memory.max"
	b, err := s.read("/proc/self/cgroup")
	if err != nil {
		note("/sys/fs/cgroup", "/", v2)
		note("/sys/fs/cgroup/memory", "/", v1)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		switch {
		case len(f) < 3:
		case f[0] == "0" && f[1] == "":
			note("/sys/fs/cgroup", f[2], v2)
			note("/sys/fs/cgroup/unified", f[2], v2)
		case strings.Contains(","+f[1]+",", ",memory,"):
			note("/sys/fs/cgroup/memory", f[2], v1)
		}
	}
	return least
}

func (s *surroundings) readNumber(file string) (int64, bool) {
	b, err := s.read(file)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is none
	return v, err == nil && v > 0
}

func (s *surroundings) number(name string) int64 {
	v, err := strconv.ParseInt(s.env(name), 10, 64)
	if err != nil || v < 0 {
		return 0
	}
	return v
}

// megabytes returns a variable of Slurm in MiB, in bytes.
func (s *surroundings) megabytes(name string) int64 { return multiply(s.number(name), 1<<20) }

func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// checkMemory fails if so many ranks on this node, with mem bytes each, need more memory than there is.
func (s *surroundings) checkMemory(mem int64, ranks int) error {
	if l := s.limit(ranks); mem > l.bytes {
		return Fail(ExitResource, fmt.Errorf("memory: --mem allows %d MiB per rank, %d ranks on this node take %d MiB; %s gives them %d MiB, %d per rank. Give --mem less (0.8 of that leaves room for the MPI library), or run fewer ranks per node",
			mem>>20, ranks, multiply(mem, int64(ranks))>>20, l.who, multiply(l.bytes, int64(ranks))>>20, l.bytes>>20))
	}
	if own := s.ownHeap(ranks); own > 0 && mem > own {
		return Fail(ExitResource, fmt.Errorf("memory: --mem allows %d MiB per rank, GOMEMLIMIT only %d. Give --mem less, or GOMEMLIMIT more",
			mem>>20, own>>20))
	}
	return nil
}
