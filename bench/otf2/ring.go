package main

import (
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// ring is a Source of n processes that pass messages around. A step is a
// computation, a send and a receive: 8 events, each with its own time.
type ring struct {
	defs  *trace.Definitions
	steps int
}

const (
	regions    = 302
	sendRegion = 300
	recvRegion = 301
)

func newRing(n, steps int) *ring {
	d := &trace.Definitions{}
	for i, s := range []string{"", "node", "MPI_COMM_WORLD", "compute", "MPI_Send", "MPI_Recv"} {
		*d.Add(trace.DefString).(*trace.String) = trace.String{Ref: uint32(i), Value: s}
	}
	*d.Add(trace.DefClockProperties).(*trace.ClockProperties) = trace.ClockProperties{
		TimerResolution: 1e9, GlobalOffset: 1e6, TraceLength: uint64(steps+1) * 20000, RealtimeTimestamp: trace.Undefined64,
	}
	*d.Add(trace.DefSystemTreeNode).(*trace.SystemTreeNode) = trace.SystemTreeNode{Name: 1, Class: 1, Parent: trace.Undefined}
	for i := range uint32(regions) {
		r := trace.Region{Ref: i, Name: 3, CanonicalName: 3, Role: trace.RoleFunction, Paradigm: trace.ParadigmCompiler}
		if i >= sendRegion {
			r.Name, r.CanonicalName = 4+i-sendRegion, 4+i-sendRegion
			r.Role, r.Paradigm = trace.RolePointToPoint, trace.ParadigmMPI
		}
		*d.Add(trace.DefRegion).(*trace.Region) = r
	}
	members := make([]uint64, n)
	for i := range n {
		members[i] = uint64(i)
		*d.Add(trace.DefLocationGroup).(*trace.LocationGroup) = trace.LocationGroup{Ref: uint32(i), Name: 1, Type: trace.ProcessGroup, Creator: trace.Undefined}
		*d.Add(trace.DefLocation).(*trace.Location) = trace.Location{Ref: uint64(i), Name: 1, Type: trace.CPUThread, Group: uint32(i)}
	}
	*d.Add(trace.DefGroup).(*trace.Group) = trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: members}
	*d.Add(trace.DefGroup).(*trace.Group) = trace.Group{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members}
	*d.Add(trace.DefComm).(*trace.Comm) = trace.Comm{Name: 2, Group: 1, Parent: trace.Undefined}
	d.Seal()
	return &ring{d, steps}
}

func (r *ring) Definitions() *trace.Definitions       { return r.defs }
func (r *ring) Format() string                        { return "ring" }
func (r *ring) Identity() [32]byte                    { return [32]byte{} }
func (r *ring) Measure(trace.P) (trace.Extent, error) { return trace.Extent{}, nil }
func (r *ring) Close() error                          { return nil }

func (r *ring) Stream(p trace.P) (trace.Stream, error) { return ringStream{r, uint32(p)}, nil }

type ringStream struct {
	r *ring
	p uint32
}

func (s ringStream) Chunks() int                     { return 1 }
func (s ringStream) Diagnostics() []trace.Diagnostic { return nil }
func (s ringStream) Close() error                    { return nil }

func (s ringStream) Chunk(int) (trace.ChunkReader, error) {
	return &ringChunk{ringStream: s, random: 88172645463325252 + uint64(s.p)}, nil
}

type ringChunk struct {
	ringStream
	step   int
	random uint64
}

// jitter returns up to 1023 ticks (xorshift).
func (c *ringChunk) jitter() trace.Time {
	c.random ^= c.random << 13
	c.random ^= c.random >> 7
	c.random ^= c.random << 17
	return trace.Time(c.random & 1023)
}

func (c *ringChunk) Next(b *trace.Batch) error {
	b.Reset()
	b.First = uint64(8 * c.step)
	n := uint32(c.r.defs.NumLocations())
	for ; c.step < c.r.steps && len(b.Events) < 2048; c.step++ {
		s := uint64(c.step)
		t := trace.Time(1e6+s*20000) + c.jitter()
		bytes := uint64(8) << (s % 12)
		b.Append(t, trace.Enter, uint32(s%30))
		b.Append(t+4000+c.jitter(), trace.Leave, uint32(s%30))
		b.Append(t+6000, trace.Enter, sendRegion)
		b.Append(t+6100, trace.MpiSend, 0, uint64((c.p+1)%n), 0, s&255, bytes)
		b.Append(t+6900, trace.Leave, sendRegion)
		b.Append(t+7000, trace.Enter, recvRegion)
		b.Append(t+9000+c.jitter(), trace.MpiRecv, 0, uint64((c.p+n-1)%n), 0, s&255, bytes)
		b.Append(t+11000, trace.Leave, recvRegion)
	}
	if len(b.Events) == 0 {
		return io.EOF
	}
	return nil
}
