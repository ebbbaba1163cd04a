package match

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// channels is the channel entries of a location in which every process sends to
// its neighbours in a ring, as a load would leave them.
type channels struct {
	sorted             memory
	peers              []PeerRange
	messages, barriers uint64 // rows, those of messages with gaps
}

// ringChannels makes messages sends and as many receives of process p of n, to and
// from two neighbours each, and barriers of all.
func ringChannels(p, n uint32, messages, barriers int) *channels {
	c := &channels{messages: 2 * uint64(messages), barriers: uint64(barriers)}
	w := entryWriter{Stream: Stream{sink: &c.sorted}}
	add := func(peer, direction, tag uint32, count int) {
		for k := range count {
			t := uint64(40*k) + uint64(tag)
			w.err = w.add(&entry{Key{Peer: peer, Tag: tag, Direction: direction}, p, Operation{
				Posting: uint64(4*k) + uint64(tag), Row: uint64(4*k) + uint64(2*direction) + uint64(tag), T: t, End: t + 9, Bytes: 4096, Post: t,
			}})
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
	for k := range barriers {
		t := uint64(1000 * k)
		w.err = w.add(&entry{Key{Peer: trace.Undefined, Tag: trace.Undefined, Direction: xtf.ChannelColl}, p, Operation{
			Posting: t, Row: uint64(k), T: t + uint64(p), End: t + 500, Post: uint64(trace.Undefined),
		}})
	}
	if err := w.flush(); err != nil {
		panic(err)
	}
	c.peers = w.peers
	return c
}

// matchRing matches all on some ranks.
func matchRing(tb testing.TB, defs *trace.Definitions, all []*channels, ranks int) []Report {
	tb.Helper()
	ranges := partition.Ranges(slices.Repeat([]uint64{1}, len(all)), ranks)
	reports := make([]Report, ranks)
	err := mpi.RunInProcess(ranks, func(comm mpi.Comm) (err error) {
		o := Options{
			Comm: comm, Defs: defs, Ranges: ranges, Scratch: func() Scratch { return &memory{} },
		}
		for p := ranges[comm.Rank()].First; p < ranges[comm.Rank()].End; p++ {
			o.Units = append(o.Units, Unit{P: p, Peers: all[p].peers, Sorted: &all[p].sorted, Late: &memory{}, P2PRows: all[p].messages, CollRows: all[p].barriers})
		}
		_, reports[comm.Rank()], err = Match(o)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return reports
}

// TestMatchScale gives each of more and more ranks the same work: what a rank sends
// and takes of memory stays the same, but for a word per rank.
func TestMatchScale(t *testing.T) {
	const messages, barriers = 2000, 50
	var most Report  // of a rank, of few ranks
	var least uint64 // bytes taken by a rank
	for _, ranks := range []int{1, 2, 4, 8, 16, 32, 64} {
		if testing.Short() && ranks > 16 {
			break
		}
		src, err := synthetic.New(synthetic.Options{Program: "ring", Processes: ranks, Iterations: 1})
		if err != nil {
			t.Fatal(err)
		}
		defs := src.Definitions()
		all := make([]*channels, ranks)
		for p := range all {
			all[p] = ringChannels(uint32(p), uint32(ranks), messages, barriers)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reports := matchRing(t, defs, all, ranks)
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) / uint64(ranks)
		if ranks == 4 {
			most, least = reports[0], taken
		}
		for r, x := range reports {
			if want := uint64(messages); x.Messages != want || ranks > 1 && x.Remote != want || x.Rounds != 1 {
				t.Errorf("rank %d of %d: %d messages, %d with others, %d rounds", r, ranks, x.Messages, x.Remote, x.Rounds)
			}
			if ranks <= 4 {
				continue
			}
			if x.Pairs.Messages > most.Pairs.Messages+2 || x.Pairs.Bytes > most.Pairs.Bytes+1000 {
				t.Errorf("rank %d of %d: pairs sent %+v, of 4 ranks %+v", r, ranks, x.Pairs, most.Pairs)
			}
			if per := float64(x.Pairs.Bytes) / float64(x.Remote); per > 81 {
				t.Errorf("rank %d of %d: %.1f bytes for a message", r, ranks, per)
			}
			// to the owner of each barrier and, as its owner, back to every member
			if limit := uint64(2 * barriers * instanceBytes); x.Members.Bytes > limit+uint64(ranks*instanceBytes) {
				t.Errorf("rank %d of %d: %d bytes for collectives, at most %d expected", r, ranks, x.Members.Bytes, limit)
			}
		}
		if ranks > 4 && taken > 2*least {
			t.Errorf("%d ranks: a rank takes %d bytes, of 4 ranks %d", ranks, taken, least)
		}
	}
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
	src, err := synthetic.New(synthetic.Options{Program: "ring", Processes: processes, Iterations: 1})
	if err != nil {
		b.Fatal(err)
	}
	defs := src.Definitions()
	all := make([]*channels, processes)
	for p := range all {
		all[p] = ringChannels(uint32(p), processes, messages, 0)
	}
	for _, c := range []struct {
		name  string
		ranks int
	}{{"local", 1}, {"exchange", processes}} {
		b.Run(c.name, func(b *testing.B) {
			var pairs uint64
			b.ReportAllocs()
			began := cpuTime(b)
			for b.Loop() {
				for _, r := range matchRing(b, defs, all, c.ranks) {
					pairs += r.Messages
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
