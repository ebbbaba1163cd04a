package stats

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// channels is the channel entries of a location in which every process sends to
// its neighbours in a ring, as a load would leave them.
type channels struct {
	sorted memory
	peers  []PeerRange
}

// ringChannels makes messages sends and as many receives of process p of n, to and
// from two neighbours each.
func ringChannels(p, n uint32, messages int) *channels {
	c := &channels{}
	var e entry
	add := func(peer, direction, tag uint32, count int) {
		for k := range count {
			t := uint64(40*k) + uint64(tag)
			e = entry{
				peer: peer, tag: tag, direction: direction, posting: uint64(4*k) + uint64(tag), row: uint64(4*k) + uint64(2*direction) + uint64(tag),
				t: t, end: t + 9, bytes: 4096, post: t, p: p,
			}
			var row [entryBytes]byte
			e.put(row[:])
			c.sorted.b = append(c.sorted.b, row[:]...)
			c.peers = extendRanges(c.peers, row[:])
		}
	}
	left, right := (p+n-1)%n, (p+1)%n
	for _, peer := range slices.Compact(slices.Sorted(slices.Values([]uint32{left, right}))) {
		for tag := range uint32(2) {
			// tag 0 goes to the right, tag 1 to the left
			if tag == 0 && peer == right || tag == 1 && peer == left {
				add(peer, xtf.ChannelSend, tag, messages/2)
			}
			if tag == 0 && peer == left || tag == 1 && peer == right {
				add(peer, xtf.ChannelReceive, tag, messages/2)
			}
		}
	}
	return c
}

// kept is a sorter's buffer: results are copied, and forgotten when it is full.
type kept struct {
	b []byte
	n uint64
}

func (k *kept) Add(row []byte) error {
	if len(k.b)+len(row) > cap(k.b) {
		k.b = k.b[:0]
	}
	k.b = append(k.b, row...)
	k.n++
	return nil
}

// cpuTime is the processor time that the process has taken: others may use the
// machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMatch joins messages of rings: all on one rank, and each process on a
// rank of its own.
func BenchmarkMatch(b *testing.B) {
	const processes, messages = 16, 100_000 // of each process
	src, err := tracetest.New(tracetest.Options{Program: "ring", Processes: processes, Iterations: 1})
	if err != nil {
		b.Fatal(err)
	}
	tables := NewTables(src.Definitions(), 0)
	all := make([]*channels, processes)
	for p := range all {
		all[p] = ringChannels(uint32(p), processes, messages)
	}
	weights := slices.Repeat([]uint64{1}, processes)
	for _, c := range []struct {
		name  string
		ranks int
	}{{"local", 1}, {"exchange", processes}} {
		b.Run(c.name, func(b *testing.B) {
			ranges := partition.Ranges(weights, c.ranks)
			var pairs uint64
			b.ReportAllocs()
			began := cpuTime(b)
			for b.Loop() {
				counts := make([]uint64, c.ranks)
				err := mpi.RunInProcess(c.ranks, func(comm mpi.Comm) error {
					o := MatchOptions{
						Comm: comm, Tables: tables, Ranges: ranges, Results: &kept{b: make([]byte, 0, 1<<20)},
						Scratch: func() (xtf.Sink, error) { return &memory{}, nil },
					}
					for p := ranges[comm.Rank()].First; p < ranges[comm.Rank()].End; p++ {
						o.Units = append(o.Units, Unit{P: trace.P(p), Peers: all[p].peers, Sorted: &all[p].sorted})
					}
					r, err := Match(o)
					counts[comm.Rank()] = r.Messages
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				for _, n := range counts {
					pairs += n
				}
			}
			if want := uint64(b.N) * processes * messages; pairs != want {
				b.Fatalf("%d messages of %d", pairs, want)
			}
			b.ReportMetric(float64(pairs)/b.Elapsed().Seconds()/1e6, "Mmessages/s")
			b.ReportMetric(float64(pairs)/(cpuTime(b)-began).Seconds()/1e6, "Mmessages/cpu-s")
		})
	}
}
