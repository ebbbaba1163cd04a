// Command cluster measures predict/cluster on generated vectors: time, processor time and memory of each rank, and the
// merges, whose digest must not depend on the number of ranks. Started by mpirun or srun it runs on all ranks.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
)

type settings struct {
	members, entries, kinds, apart, noise int
	percent                               uint
	options                               cluster.Options
	dump, linkage                         string
	limit                                 int64
}

func main() {
	var s settings
	flag.IntVar(&s.members, "k", 10000, "members")
	flag.IntVar(&s.entries, "m", 32, "entries of a vector")
	flag.IntVar(&s.kinds, "kinds", 5, "behaviours: member i has that of i mod kinds")
	flag.IntVar(&s.apart, "apart", 1000, "difference of an entry from one behaviour to the next")
	flag.IntVar(&s.noise, "noise", 101, "entries are random below this, above their behaviour")
	flag.UintVar(&s.percent, "percent", 0, "threshold in percent of the mean sum; 0 asks for the whole dendrogram")
	flag.StringVar(&s.linkage, "linkage", "complete", "complete, average or single")
	flag.StringVar(&s.dump, "dump", "", "write the vectors to this file, 64-bit numbers, instead of clustering")
	flag.Int64Var(&s.limit, "limit", 0, "memory limit of the garbage collector for each rank in MiB, as analyze sets it; 0 for none")
	flag.Parse()
	for i, name := range []string{"complete", "average", "single"} {
		if name == s.linkage {
			s.options.Linkage = cluster.Linkage(i)
		}
	}
	if s.percent == 0 {
		s.options.Full = true
	} else {
		s.options.Threshold = cluster.Threshold{PPM: uint32(s.percent) * 10_000}
	}
	if s.dump != "" {
		if err := dump(s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if mpi.Launched() {
		s.options.Workers = 1
		mpi.Main(func(c mpi.Comm) int {
			if err := run(c, s); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		})
	}
	if err := run(mpi.Serial(), s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// members are the vectors of members first to first+n-1. An entry depends on its member and place alone.
type members struct {
	settings
	first, n int
}

func (v members) Len() int        { return v.n }
func (v members) ID(i int) uint32 { return uint32(v.first + i) }
func (v members) Dim() uint64     { return uint64(v.entries) }

func (v members) Read(i int, from uint64, dst []int64) error {
	base := (v.first + i) % v.kinds * v.apart
	for k := range dst {
		x := (uint64(v.first+i)<<32 + from + uint64(k)) * 0x9E3779B97F4A7C15
		x ^= x >> 31
		x *= 0x94D049BB133111EB
		x ^= x >> 29
		dst[k] = int64(base) + 100*int64(from+uint64(k)) + int64(x%uint64(v.noise))
	}
	return nil
}

func dump(s settings) error {
	f, err := os.Create(s.dump)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	v := members{s, 0, s.members}
	row := make([]int64, s.entries)
	b := make([]byte, 8)
	for i := range s.members {
		_ = v.Read(i, 0, row)
		for _, x := range row {
			for k := range b {
				b[k] = byte(x >> (8 * k))
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func run(c mpi.Comm, s settings) error {
	if s.limit > 0 {
		debug.SetMemoryLimit(s.limit << 20)
	}
	first := s.members * c.Rank() / c.Size()
	v := members{s, first, s.members*(c.Rank()+1)/c.Size() - first}
	start, cpu := time.Now(), processor()
	r, err := cluster.Classify(context.Background(), c, v, s.options)
	if err != nil {
		return err
	}
	wall, cpu := time.Since(start), processor()-cpu
	all := []int64{cpu.Microseconds(), int64(peak())}
	most := []int64{all[0], all[1]}
	if err := c.AllreduceInt64(all, mpi.Sum); err != nil {
		return err
	}
	if err := c.AllreduceInt64(most, mpi.Max); err != nil {
		return err
	}
	if c.Rank() != 0 {
		return nil
	}
	h, sum := sha256.New(), 0.0
	for _, m := range r.Merges {
		fmt.Fprintln(h, m.A, m.B, m.Size, m.Height.Floor())
		sum += m.Height.Float(r.Fraction)
	}
	fmt.Printf("%d x %d, %s, %d ranks: %d classes, %d components, largest %d, %d merges, sum of heights %.6f, threshold %.6f, digest %x\n",
		s.members, s.entries, s.linkage, c.Size(), len(r.Classes), r.Components, r.Largest, len(r.Merges), sum, r.Threshold.Float(r.Fraction), h.Sum(nil)[:6])
	const mega = 1e6
	fmt.Printf("  CPU %.3f s in all, %.3f s on the busiest rank; memory %d MB on the largest rank, %d MB in all; %.1f s on the clock (%s)\n",
		float64(all[0])/mega, float64(most[0])/mega, most[1]>>20, all[1]>>20, wall.Seconds(), runtime.Version())
	return nil
}

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the largest resident memory of this process in bytes.
func peak() (n uint64) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil {
			return n << 10
		}
	}
	return 0
}
