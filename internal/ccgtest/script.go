package ccgtest

import (
	"math/rand/v2"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Definitions returns definitions of n processes with one location each, three
// communicators (world, even ranks, one unknown), a window, regions, calling
// contexts and metrics of each mode.
func Definitions(n int) *trace.Definitions {
	d := &trace.Definitions{}
	for i := range n {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(i), Type: trace.ProcessGroup, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Type: trace.CPUThread, Group: uint32(i)})
	}
	var all, even []uint64
	for i := range n {
		all = append(all, uint64(i))
		if i%2 == 0 {
			even = append(even, uint64(i))
		}
	}
	d.Groups = []trace.Group{
		{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: all},
		{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: all},
		{Ref: 2, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: even},
		{Ref: 3, Type: trace.GroupCommSelf, Paradigm: trace.ParadigmMPI},
	}
	for i := range uint32(3) {
		d.Comms = append(d.Comms, trace.Comm{Ref: i, Group: i + 1, Parent: trace.Undefined})
	}
	d.RmaWins = []trace.RmaWin{{Ref: 0, Comm: 0}, {Ref: 1, Comm: 1}}
	for i := range uint32(12) {
		d.Regions = append(d.Regions, trace.Region{Ref: i})
		d.CallingContexts = append(d.CallingContexts, trace.CallingContext{Ref: i, Region: i % 5, Parent: trace.Undefined})
	}
	for i := range uint8(3) {
		d.MetricMembers = append(d.MetricMembers, trace.MetricMember{Ref: uint32(i), Mode: i, ValueType: trace.TypeUint64})
	}
	d.MetricClasses = []trace.MetricClass{{Ref: 0, Members: []uint32{0, 1, 2}}, {Ref: 1, Members: []uint32{0, 9}}}
	d.MetricInstances = []trace.MetricInstance{{Ref: 7, Class: 0}}
	d.Seal()
	return d
}

// Script makes random but repetitive streams: a few procedures of random
// records, calls and loops, played in random order.
type Script struct {
	R     *rand.Rand
	procs int
	B     trace.Batch
	t     trace.Time
	req   uint64
	posts []uint64
	self  uint32
	size  uint32
	odd   bool // stray leaves, cut frames, far ids
}

func NewScript(seed uint64, self, size uint32, odd bool) *Script {
	return &Script{R: rand.New(rand.NewPCG(seed, uint64(self))), procs: 4, self: self, size: size, odd: odd, t: trace.Time(seed)}
}

func (s *Script) tick() trace.Time {
	switch s.R.IntN(40) {
	case 0:
		s.t += trace.Time(s.R.Uint64N(1 << 40))
	case 1, 2: // equal time stamps
	default:
		s.t += trace.Time(100 + s.R.IntN(20))
	}
	return s.t
}

func (s *Script) Event(k trace.Kind, ref uint32, words ...uint64) {
	s.B.Append(s.tick(), k, ref, words...)
}

// Stream returns about n events.
func (s *Script) Stream(n int) *trace.Batch {
	for len(s.B.Events) < n {
		s.proc(uint32(s.R.IntN(s.procs)), 0)
	}
	if s.odd {
		s.Event(trace.Enter, 1) // never left
		s.Event(trace.CallingContextEnter, 0, 3, 1)
		s.Record(trace.MpiSend, 0)
	}
	return &s.B
}

// proc plays a procedure: its shape depends on its number and depth only, the
// numbers in it are random.
func (s *Script) proc(id uint32, depth int) {
	shape := rand.New(rand.NewPCG(uint64(id), uint64(depth)))
	cc := shape.IntN(6) == 0
	if cc {
		s.Event(trace.CallingContextEnter, 0, uint64(id), uint64(shape.IntN(3)))
	} else {
		s.Event(trace.Enter, id)
	}
	if shape.IntN(8) == 0 {
		s.Attributes(shape)
	}
	for range shape.IntN(5) {
		trips := 1
		if shape.IntN(2) == 0 {
			trips = 1 + shape.IntN(6)
			if s.R.IntN(10) == 0 {
				trips += s.R.IntN(30)
			}
		}
		kind := randomKind(shape)
		sub := uint32(shape.IntN(12))
		kids := shape.IntN(3)
		for range trips {
			if kids > 0 && depth < 5 {
				s.proc(sub, depth+1)
			}
			if kids != 1 {
				s.Record(kind, shape.IntN(3))
			}
		}
	}
	if s.odd && s.R.IntN(40) == 0 {
		s.Event(trace.Leave, uint32(s.R.IntN(20))+20)
		if s.R.IntN(2) == 0 {
			s.Event(trace.CallingContextLeave, 0, 77)
		}
	}
	if cc {
		s.Event(trace.CallingContextLeave, 0, uint64(id))
	} else {
		s.Event(trace.Leave, id)
	}
	if shape.IntN(8) == 0 {
		s.Attributes(shape)
	}
}

func randomKind(r *rand.Rand) trace.Kind {
	for {
		k := trace.Kind(r.IntN(256))
		switch k {
		case trace.Enter, trace.Leave, trace.CallingContextEnter, trace.CallingContextLeave:
			continue
		}
		if k.Known() || r.IntN(40) == 0 {
			return k
		}
	}
}

// Record plays one record of kind k.
func (s *Script) Record(k trace.Kind, variant int) {
	info := k.Info()
	var words []uint64
	t := s.tick()
	for i, f := range info.Fields {
		var v uint64
		switch f.Place {
		case trace.Rank:
			v = uint64((s.self + uint32(variant) + 1) % s.size)
			if s.R.IntN(200) == 0 {
				v = trace.Undefined - uint64(s.R.IntN(3))
			}
		case trace.PostMpi, trace.PostRma, trace.PostIo:
			s.req++
			if s.odd && s.R.IntN(50) == 0 {
				s.req += s.R.Uint64N(1000)
			}
			v = s.req
			if s.odd && len(s.posts) > 0 && s.R.IntN(50) == 0 {
				v = s.posts[s.R.IntN(len(s.posts))] // reused
			}
			s.posts = append(s.posts, v)
		case trace.UseMpi, trace.UseRma, trace.UseIo:
			v = 5
			if n := len(s.posts); n > 0 {
				v = s.posts[max(0, n-1-variant)]
				if s.odd && s.R.IntN(30) == 0 {
					v = s.posts[s.R.IntN(n)]
				}
			}
		case trace.Number:
			v = uint64(64 << (variant * 3))
			if s.R.IntN(20) == 0 {
				v = s.R.Uint64() >> s.R.IntN(64)
			}
		case trace.FromStamp:
			v = uint64(t) + s.R.Uint64N(1000) - 100
		default:
			v = uint64(variant)
			if info.List != trace.NoList && i == len(info.Fields)-1 {
				v = uint64(variant + s.R.IntN(2))
			}
		}
		words = append(words, v)
	}
	if info.List != trace.NoList {
		words = append(words, s.list(info.List, words[len(words)-1])...)
	}
	s.B.Append(t, k, 0, words...)
	if variant == 2 && s.R.IntN(3) == 0 {
		s.Attributes(s.R)
		if s.R.IntN(2) == 0 {
			s.Surplus()
		}
	}
}

func (s *Script) list(l trace.List, n uint64) (words []uint64) {
	for i := range n {
		switch l {
		case trace.MetricList:
			words = append(words, uint64([]trace.ValueType{trace.TypeUint64, trace.TypeDouble, trace.TypeInt64}[i%3]), s.R.Uint64())
		case trace.StringList:
			words = append(words, i)
		default:
			if i%8 == 0 {
				words = append(words, s.R.Uint64())
			}
		}
	}
	return words
}

func (s *Script) Attributes(r *rand.Rand) {
	var list []trace.EventAttribute
	for i := range uint32(1 + r.IntN(2)) {
		t := trace.ValueType(r.IntN(int(trace.TypeLocationGroup) + 3))
		v := uint64(i)
		if t.Ref() == trace.RefNone {
			v = s.R.Uint64()
		}
		list = append(list, trace.EventAttribute{Ref: i, Type: t, Value: v})
	}
	s.B.AppendAttributes(list...)
}

func (s *Script) Surplus() {
	e := &s.B.Events[len(s.B.Events)-1]
	e.Flags |= trace.HasSurplus
	n := 1 + s.R.IntN(20)
	s.B.Args = append(s.B.Args, uint64(n))
	for range (n + 7) / 8 {
		s.B.Args = append(s.B.Args, s.R.Uint64())
	}
	e.Len = uint32(len(s.B.Args)) - e.Arg
}

// SameEvents compares two runs of events word by word.
func SameEvents(a, b *trace.Batch) (int, bool) {
	for i := range a.Events {
		if i >= len(b.Events) {
			return i, false
		}
		x, y := a.Events[i], b.Events[i]
		wx, wy := a.Words(&x), b.Words(&y)
		x.Arg, y.Arg = 0, 0
		if x != y || !slices.Equal(wx, wy) {
			return i, false
		}
	}
	return len(a.Events), len(a.Events) == len(b.Events)
}
