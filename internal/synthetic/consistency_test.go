package synthetic

import (
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic/specs"
	"github.com/coppice-hpc/coppice/trace"
)

// TestCollectives checks that collectives wait for whom they must.
func TestCollectives(t *testing.T) {
	for _, spec := range specs.Sound {
		t.Run(spec, func(t *testing.T) {
			s := open(t, spec)
			for key, list := range instances(t, s) {
				checkInstance(t, s, key, list)
			}
		})
	}
}

type instanceKey struct {
	comm uint32
	n    int
}

// part is a member's share in a collective operation.
type part struct {
	process      uint32
	begin, end   trace.Time // start and completion of the operation
	op, root     uint64
	posted       int
	nonBlocking  bool
	communicator uint32
}

// instances lists the parts of every collective, straight from the events.
func instances(t *testing.T, s *Source) map[instanceKey][]part {
	t.Helper()
	out := map[instanceKey][]part{}
	for p := range trace.P(s.Definitions().NumLocations()) {
		events := readAll(t, s, p)
		process, _ := s.Definitions().Process(p)
		var parts []part
		requests := map[uint64]int{}
		var begin trace.Time
		posted := 0
		for i, e := range events {
			switch e.kind {
			case trace.MpiCollectiveBegin:
				begin, posted = e.time, i
			case trace.NonBlockingCollectiveRequest:
				requests[e.fields[0]] = i
			case trace.MpiCollectiveEnd:
				parts = append(parts, part{process, begin, e.time, e.fields[0], e.fields[2], posted, false, uint32(e.fields[1])})
			case trace.NonBlockingCollectiveComplete:
				at := requests[e.fields[5]]
				parts = append(parts, part{process, events[at].time, e.time, e.fields[0], e.fields[2], at, true, uint32(e.fields[1])})
			}
		}
		for _, x := range parts {
			n := 0
			for _, y := range parts {
				if y.communicator == x.communicator && y.posted < x.posted {
					n++
				}
			}
			k := instanceKey{x.communicator, n}
			out[k] = append(out[k], x)
		}
	}
	return out
}

func checkInstance(t *testing.T, s *Source, key instanceKey, list []part) {
	t.Helper()
	d := s.Definitions()
	if len(list) != d.CommSize(key.comm) {
		t.Fatalf("collective %v has %d members of %d", key, len(list), d.CommSize(key.comm))
	}
	var last, root trace.Time
	for _, x := range list {
		if x.op != list[0].op || x.root != list[0].root || x.nonBlocking != list[0].nonBlocking {
			t.Fatalf("collective %v: members disagree: %+v and %+v", key, x, list[0])
		}
		last = max(last, x.begin)
		if rank, _ := d.RankIn(key.comm, x.process); uint64(rank) == x.root {
			root = x.begin
		}
	}
	for _, x := range list {
		rank, _ := d.RankIn(key.comm, x.process)
		need := last
		switch x.op {
		case opBcast, opScatter:
			need = root
		case opReduce, opGather:
			if uint64(rank) != x.root {
				need = x.begin
			}
		}
		if x.end < need {
			t.Fatalf("collective %v: %+v ends before %d", key, x, need)
		}
	}
}
