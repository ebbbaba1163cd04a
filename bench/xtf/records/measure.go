//go:build linux

package records

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Store is what is compared.
type Store interface {
	// Build writes n records to path and syncs them.
	Build(path string, n uint64) error
	// Open makes path ready for lookups; cold says that each page is read once.
	Open(path string, cold bool) error
	Close() error
	// Seek finds the first record at or after key. place is whatever names it.
	Seek(key uint64) (place uint64, err error)
	// Record returns the key and the fourth number of the record at place.
	Record(place uint64) (key, value uint64, err error)
	// Count returns the number of records with from <= key < to.
	Count(from, to uint64) (uint64, error)
	// Reads is the number of pages read since Open, -1 where nobody counts them.
	Reads() int64
}

// Main measures a store: PROGRAM FILE RECORDS QUERIES COLD. It prints lines of a
// metric and its value.
func Main(s Store) {
	if err := run(s, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(s Store, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: %s FILE RECORDS QUERIES COLD", os.Args[0])
	}
	var v [3]int
	for i := range v {
		n, err := strconv.Atoi(args[i+1])
		if err != nil {
			return err
		}
		v[i] = n
	}
	path, n := args[0], uint64(v[0])
	queries := Queries(n, v[1])
	for _, f := range []func() error{
		func() error { return build(s, path, n) },
		func() error { return warm(s, path, n, queries) },
		func() error { return cold(s, path, queries[:min(v[2], len(queries))]) },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func build(s Store, path string, n uint64) error {
	cpu, wall := cpuSeconds(), time.Now()
	if err := s.Build(path, n); err != nil {
		return err
	}
	fmt.Println("build_s", time.Since(wall).Seconds())
	fmt.Println("build_cpu_s", cpuSeconds()-cpu)
	fmt.Println("build_peak_kib", peakKiB())
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Println("bytes", st.Size())
	return nil
}

// warm measures with everything in memory: all queries were asked once before.
func warm(s Store, path string, n uint64, queries []uint64) error {
	if err := s.Open(path, false); err != nil {
		return err
	}
	var keys, values uint64
	for _, q := range queries {
		place, err := s.Seek(q)
		if err != nil {
			return err
		}
		k, v, err := s.Record(place)
		if err != nil {
			return err
		}
		keys, values = keys+k, values+v
	}
	fmt.Println("check_keys", keys)
	fmt.Println("check_values", values)
	cpu := cpuSeconds()
	for _, q := range queries {
		if _, err := s.Seek(q); err != nil {
			return err
		}
	}
	fmt.Println("search_ns", (cpuSeconds()-cpu)/float64(len(queries))*1e9)
	cpu = cpuSeconds()
	for _, q := range queries {
		place, err := s.Seek(q)
		if err == nil {
			_, _, err = s.Record(place)
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("record_ns", (cpuSeconds()-cpu)/float64(len(queries))*1e9)
	if err := count(s, n); err != nil {
		return err
	}
	return s.Close()
}

// count repeats until a tenth of a second is used: windows are few for the
// slow, many for the fast.
func count(s Store, n uint64) error {
	rows := min(1_000_000, n/2)
	windows := Windows(n, rows, 64)
	done, cpu := 0, cpuSeconds()
	var total uint64
	for cpuSeconds()-cpu < 0.1 {
		for _, w := range windows[done%64 : done%64+4] {
			k, err := s.Count(w.From, w.To)
			if err != nil {
				return err
			}
			total += k
		}
		done += 4
	}
	fmt.Println("count_us", (cpuSeconds()-cpu)/float64(done)*1e6)
	fmt.Println("check_count", total/uint64(done))
	return nil
}

// cold opens the file for each query anew, after its pages left the page cache.
func cold(s Store, path string, queries []uint64) error {
	runtime.GC() // what lookups in memory left is not collected during the others
	var opens, walls []float64
	var reads int64
	var kib int64
	for _, q := range queries {
		if err := drop(path); err != nil {
			return err
		}
		start := time.Now()
		if err := s.Open(path, true); err != nil {
			return err
		}
		opens = append(opens, float64(time.Since(start).Nanoseconds())/1e3)
		before, r := readBytes(), s.Reads()
		start = time.Now()
		if _, err := s.Seek(q); err != nil {
			return err
		}
		walls = append(walls, float64(time.Since(start).Nanoseconds())/1e3)
		reads += s.Reads() - r
		kib += readBytes() - before
		if err := s.Close(); err != nil {
			return err
		}
	}
	fmt.Println("open_us", median(opens))
	fmt.Println("cold_us", median(walls))
	if reads > 0 {
		fmt.Println("cold_reads", float64(reads)/float64(len(queries)))
	}
	fmt.Println("cold_kib", float64(kib)/1024/float64(len(queries)))
	return nil
}

// drop asks the kernel to forget the pages of a file.
func drop(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const dontNeed = 4
	if _, _, e := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); e != 0 {
		return fmt.Errorf("posix_fadvise: %w", e)
	}
	return nil
}

// readBytes is what the process has had fetched from storage, 0 where the kernel
// does not tell.
func readBytes() int64 {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "read_bytes: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// MajorFaults is the number of page faults that had to read.
func MajorFaults() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Majflt)
}

// peakKiB is the most memory that was resident so far, pages of mapped files included.
func peakKiB() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
