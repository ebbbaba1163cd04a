package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrNoRows means that a file has no rows of events, which Observe needs.
var ErrNoRows = errors.New("the file has no rows of events")

// observer reads a run for package pipeline.
type observer struct {
	f       *xtf.File
	d       *trace.Definitions
	seconds float64 // of a tick
	rank    []int   // by location: its process where it is the first of it, else -1
}

// Observe reads messages and wait states of all processes of a file: what a model of a pipeline is extracted from. Of a
// process it takes the first location. Memory: 32 bytes a message, 24 a wait, 16 a call of MPI.
func Observe(f *xtf.File) (*pipeline.Observed, error) {
	b, err := f.Definitions()
	if err != nil {
		return nil, err
	}
	o := &observer{f: f, d: &trace.Definitions{}}
	if err := o.d.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("definitions: %w", errors.Join(err, xtf.ErrCorrupt))
	}
	if uint64(o.d.NumLocations()) != uint64(f.Procs()) {
		return nil, fmt.Errorf("%d regions for %d locations: %w", f.Procs(), o.d.NumLocations(), xtf.ErrCorrupt)
	}
	o.seconds = 1 / float64(max(1, o.d.Clock().TimerResolution))
	o.rank = make([]int, o.d.NumLocations())
	for p := range o.rank {
		o.rank[p] = -1
	}
	out := &pipeline.Observed{Ranks: make([]pipeline.ObservedRank, len(o.d.Processes()))}
	for r, p := range o.d.Processes() {
		o.rank[p.First] = r
	}
	for r, p := range o.d.Processes() {
		if err := o.process(&out.Ranks[r], p); err != nil {
			return nil, fmt.Errorf("process %d: %w", r, err)
		}
	}
	out.Input, err = o.input()
	return out, err
}

// input is what the provenance says that the trace is known by.
func (o *observer) input() (string, error) {
	b, err := o.f.Provenance()
	if err != nil {
		return "", err
	}
	var p struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return "", fmt.Errorf("provenance: %w", errors.Join(err, xtf.ErrCorrupt))
	}
	return "sha256:" + strings.ToValidUTF8(p.Input, "?"), nil
}

// process reads the first location of a process.
func (o *observer) process(r *pipeline.ObservedRank, p trace.Process) error {
	proc := xtf.Proc(p.First)
	r.Node = o.node(p)
	calls := 0
	err := o.rows(proc, xtf.TypeCall, func(row []byte) error {
		var c xtf.Call
		c.Load(row)
		if c.End < c.T {
			return xtf.ErrCorrupt
		}
		if calls == 0 {
			r.Begin = o.time(c.T)
		}
		calls++
		if c.Flags&xtf.FlagOutermostMPI != 0 && c.Flags&xtf.FlagMarker == 0 && c.End != xtf.Never {
			r.Calls = append(r.Calls, pipeline.ObservedSpan{Begin: o.time(c.T), End: o.time(c.End)})
		}
		switch name := o.name(c.Region); {
		case name == "MPI_Init" || name == "MPI_Init_thread":
			r.Begin = o.time(c.End)
		case name == "MPI_Finalize":
			r.End = o.time(c.T)
		}
		return nil
	})
	if err == nil {
		err = o.rows(proc, xtf.TypeP2P, func(row []byte) error { return o.message(r, row) })
	}
	if err == nil {
		err = o.rows(proc, xtf.TypeWait, func(row []byte) error {
			var w xtf.Wait
			w.Load(row)
			if w.End < w.T {
				return xtf.ErrCorrupt
			}
			r.Waits = append(r.Waits, pipeline.ObservedWait{
				ObservedSpan: pipeline.ObservedSpan{Begin: o.time(w.T), End: o.time(w.End)}, InSend: w.Pattern&xtf.WaitPatternMask == xtf.WaitLateReceiver,
			})
			return nil
		})
	}
	if err != nil {
		return err
	}
	if calls == 0 {
		return ErrNoRows
	}
	slices.SortStableFunc(r.Messages, func(a, b pipeline.ObservedMessage) int {
		switch {
		case a.End < b.End:
			return -1
		case a.End > b.End:
			return 1
		}
		return 0
	})
	for _, m := range r.Messages {
		r.End = max(r.End, m.End)
	}
	return nil
}

// message adds a side of a message that has another side elsewhere.
func (o *observer) message(r *pipeline.ObservedRank, row []byte) error {
	var m xtf.P2P
	m.Load(row)
	if m.Kind&(xtf.P2PMarker|xtf.P2PUnmatched|xtf.P2PIncomplete) != 0 || m.End == xtf.Never {
		return nil
	}
	if uint64(m.MateP) >= uint64(len(o.rank)) {
		return xtf.ErrCorrupt
	}
	if peer := o.rank[m.MateP]; peer >= 0 {
		r.Messages = append(r.Messages, pipeline.ObservedMessage{Peer: peer, Send: m.Kind&xtf.P2PKindMask == xtf.P2PSend, End: o.time(m.End), Bytes: m.Bytes})
	}
	return nil
}

func (o *observer) time(ticks uint64) float64 { return float64(ticks) * o.seconds }

func (o *observer) name(region uint32) string {
	if r := o.d.Region(region); r != nil {
		return o.d.Text(r.Name)
	}
	return ""
}

// node is the name of the part of the system that a process ran on.
func (o *observer) node(p trace.Process) string {
	for _, g := range o.d.LocationGroups {
		if g.Ref != p.Group {
			continue
		}
		for _, n := range o.d.SystemTreeNodes {
			if n.Ref == g.Parent {
				if name := strings.ToValidUTF8(o.d.Text(n.Name), "?"); name != "" {
					return name
				}
			}
		}
	}
	return "node"
}

// rows calls f for every row of an array.
func (o *observer) rows(p xtf.Proc, t xtf.TypeID, f func(row []byte) error) error {
	a, err := o.f.Array(p, t)
	if err != nil {
		return err
	}
	width := a.Type().RowBytes
	c := a.Rows(0, a.Len())
	for {
		b, _, ok := c.NextPage()
		if !ok {
			return c.Err()
		}
		for ; len(b) >= width; b = b[width:] {
			if err := f(b[:width]); err != nil {
				return err
			}
		}
	}
}
