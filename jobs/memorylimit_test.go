package jobs

import (
	"math"
	"os"
	"strings"
	"testing"
)

// TestMemoryLimit makes machines and batch jobs, and asks what a rank may use there.
func TestMemoryLimit(t *testing.T) {
	const meminfo, group = "/proc/meminfo", "/proc/self/cgroup"
	const limits, status, used = "/proc/self/limits", "/proc/self/status", "Name:\tcoppice\nVmSize:\t 1048576 kB\n"
	machine := map[string]string{meminfo: "MemTotal:       67108864 kB\nMemFree: 1 kB\n"} // 64 GiB
	slurm2 := "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"
	tests := []struct {
		name  string
		files map[string]string
		env   map[string]string
		ranks int
		alone bool  // no launcher
		want  int64 // MiB
		who   string
	}{
		{"machine", nil, nil, 4, false, 16 << 10, "machine"},
		{"nothing known", map[string]string{meminfo: "what"}, nil, 1, true, 4 << 10, "machine"},
		{"cgroup v2", map[string]string{group: "0::/user\n", "/sys/fs/cgroup/user/memory.max": "8589934592\n"}, nil, 4, false, 2 << 10, "cgroup"},
		{"cgroup v2 without limit", map[string]string{group: "0::/user\n", "/sys/fs/cgroup/user/memory.max": "max\n"}, nil, 4, false, 16 << 10, "machine"},
		{"the job's cgroup around the task's", map[string]string{
			group: "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", slurm2 + "/memory.max": "17179869184\n", slurm2 + "/step_0/memory.max": "max\n",
		}, nil, 8, false, 2 << 10, "cgroup"},
		{"cgroup v1", map[string]string{
			group: "9:cpu,cpuacct:/a\n4:memory:/slurm/uid_0/job_7\n0::/\n", "/sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.limit_in_bytes": "4294967296\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, nil, 2, false, 2 << 10, "cgroup"},
		{"container", map[string]string{group: "0::/../../other\n", "/sys/fs/cgroup/memory.max": "1073741824"}, nil, 1, true, 1 << 10, "cgroup"},
		{"no list of cgroups", map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824"}, nil, 1, true, 1 << 10, "cgroup"},
		{"addresses, no limit", map[string]string{limits: "Limit  Soft Limit\nMax address space         unlimited            unlimited            bytes\n", status: used}, nil, 4, false, 16 << 10, "machine"},
		{"addresses of a rank", map[string]string{limits: "Max address space         4294967296           unlimited            bytes\n", status: used}, nil, 4, false, 3 << 10, "ulimit -v"},
		{"addresses, ranks in one process", map[string]string{limits: "Max address space         4294967296           unlimited            bytes\n", status: used}, nil, 4, true, 768, "ulimit -v"},
		{"Slurm per node", nil, map[string]string{"SLURM_MEM_PER_NODE": "8000"}, 4, false, 2000, "SLURM_MEM_PER_NODE"},
		{"Slurm, all of the node", nil, map[string]string{"SLURM_MEM_PER_NODE": "0"}, 4, false, 16 << 10, "machine"},
		{"Slurm per processor", nil, map[string]string{"SLURM_MEM_PER_CPU": "1280"}, 4, false, 1280, "SLURM_MEM_PER_CPU"},
		{"Slurm per processor, threads", nil, map[string]string{"SLURM_MEM_PER_CPU": "1280", "SLURM_CPUS_PER_TASK": "3"}, 4, false, 3840, "SLURM_MEM_PER_CPU"},
		{"Slurm per processor of the step", nil, map[string]string{"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_ON_NODE": "16"}, 4, false, 4000, "SLURM_MEM_PER_CPU"},
		{"Slurm, ranks in one process", nil, map[string]string{"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_PER_TASK": "8"}, 4, true, 2000, "SLURM_MEM_PER_CPU"},
		{"Slurm, nonsense", nil, map[string]string{"SLURM_MEM_PER_CPU": "many", "SLURM_MEM_PER_NODE": "-3"}, 4, false, 16 << 10, "machine"},
		{"Slurm, huge", nil, map[string]string{"SLURM_MEM_PER_NODE": "9223372036854775807", "SLURM_MEM_PER_CPU": "9223372036854775807"}, 4, false, 16 << 10, "machine"},
	}
	for _, k := range tests {
		t.Run(k.name, func(t *testing.T) {
			s := &surroundings{
				read: func(file string) ([]byte, error) {
					if text, ok := k.files[file]; ok {
						return []byte(text), nil
					}
					if text, ok := machine[file]; ok {
						return []byte(text), nil
					}
					return nil, os.ErrNotExist
				},
				env: func(name string) string { return k.env[name] }, launched: !k.alone, heap: math.MaxInt64,
			}
			l := s.limit(k.ranks)
			if l.bytes>>20 != k.want || !strings.Contains(l.who, k.who) {
				t.Errorf("%d MiB by %s, want %d by %s", l.bytes>>20, l.who, k.want, k.who)
			}
			if err := s.checkMemory(l.bytes, k.ranks); err != nil {
				t.Errorf("all of it: %v", err)
			}
			if err := s.checkMemory(l.bytes+1, k.ranks); ExitCode(err) != ExitResource || !strings.Contains(err.Error(), k.who) {
				t.Errorf("more than there is: %v", err)
			}
			s.heap = l.bytes / 2
			if err := s.checkMemory(l.bytes, k.ranks); ExitCode(err) != ExitResource || !strings.Contains(err.Error(), "GOMEMLIMIT") {
				t.Errorf("more than GOMEMLIMIT: %v", err)
			}
		})
	}
}

// TestOwnHeap shares GOMEMLIMIT between the ranks of a process.
func TestOwnHeap(t *testing.T) {
	for _, k := range []struct {
		heap     int64
		launched bool
		want     int64
	}{{math.MaxInt64, false, 0}, {8 << 20, false, 2 << 20}, {8 << 20, true, 8 << 20}} {
		if got := (&surroundings{heap: k.heap, launched: k.launched}).ownHeap(4); got != k.want {
			t.Errorf("%+v: %d", k, got)
		}
	}
}

// TestUsualMemory has the default of a rank: 256 MiB and 12 bytes an event, but never less than its least and 256 MiB, and never
// more than there is. 64 M events are 768 MiB, the longest location's 24 bytes an event are in its least.
func TestUsualMemory(t *testing.T) {
	const mib = 1 << 20
	for _, k := range []struct {
		name      string
		available int64
		events    uint64
		least     int64
		want      int64
	}{
		{"few events", 16 << 30, 1000, 88 * mib, 344 * mib},
		{"64 Mi events in 16 locations", 16 << 30, 64 * mib, 184 * mib, 1024 * mib},
		{"64 Mi events in one location", 16 << 30, 64 * mib, 1624 * mib, 1880 * mib},
		{"a small machine", 512 * mib, 64 * mib, 184 * mib, 512 * mib},
		{"an announcement that cannot be", 16 << 30, math.MaxUint64, 184 * mib, 16 << 30},
	} {
		if got := usualMemory(k.available, k.events, k.least); got != k.want {
			t.Errorf("%s: %d MiB, want %d", k.name, got/mib, k.want/mib)
		}
	}
}
