package predict

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// plainAction is an action with its partner as a process.
type plainAction struct {
	Kind        simnet.ActionKind
	Flags       simnet.CallFlags
	Coll        simnet.CollKind
	Comm        uint32
	Partner     int64 // process; root of a collective
	Tag, Age    uint32
	Bytes, Recv uint64
}

// plainCall is a call of one process.
type plainCall struct {
	Region  uint32
	Actions []plainAction
}

// unrolled returns the calls of a process in order.
func unrolled(in *Input, process uint32) []plainCall {
	var list []plainCall
	var walk func(n simnet.NodeID)
	p := in.Program
	walk = func(n simnet.NodeID) {
		x := p.Nodes[n]
		switch x.Kind {
		case simnet.Call:
			c := plainCall{Region: in.Region[n]}
			for _, a := range p.Actions[x.First : x.First+x.Len] {
				c.Actions = append(c.Actions, plain(p, &a, process))
			}
			list = append(list, c)
		case simnet.Seq:
			for _, c := range p.Children[x.First : x.First+x.Len] {
				walk(c)
			}
		case simnet.Loop:
			for range x.Count {
				walk(p.Children[x.First])
			}
		}
	}
	walk(p.Roots[process])
	return list
}

func plain(p *simnet.Program, a *simnet.Action, process uint32) plainAction {
	x := plainAction{a.Kind, a.Flags, a.Coll, a.Comm, 0, a.Tag, a.Age, a.Bytes, a.Recv}
	if a.Kind == simnet.PostColl || a.Kind == simnet.WaitColl || a.Kind == simnet.FileIO {
		x.Partner = int64(a.Peer)
		return x
	}
	c, own := &p.Comms[a.Comm], int64(process)
	if c.Members != nil {
		own = int64(slices.Index(c.Members, process))
	}
	var rank int64
	switch a.Mode {
	case simnet.PeerAbsolute:
		rank = int64(a.Peer)
	case simnet.PeerRelative:
		rank = (own + int64(a.Peer)) % int64(c.Size)
	case simnet.PeerXor:
		rank = own ^ int64(a.Peer)
	}
	x.Partner = int64(c.Process(uint32(rank)))
	return x
}

// twin makes calls and computation from the events, one at a time, with everything in maps.
type twin struct {
	in      *Input
	tables  *tables
	process uint32
	calls   []plainCall
	entries []uint64

	depth    int
	region   uint32
	enter    trace.Time
	acts     bool
	now, end trace.Time // time under way; where the entry began
	started  bool
	probes   []probeAt
	requests map[uint64]*twinPost // open, by id
	ops      [][]*twinPost        // of each call, in order
	lists    [][]*twinPost        // completions of each call
}

type probeAt struct{ call int }

// twinPost is an operation.
type twinPost struct {
	action  plainAction
	call    int
	request bool
	known   bool
	done    bool
	cancel  bool
	block   bool
	probed  []int // calls that probe for it
}

// follow goes through the events of a location.
func (w *twin) follow(l *ccg.Location) error {
	x := l.Expand()
	var b trace.Batch
	for {
		err := x.Next(&b)
		for i := range b.Events {
			w.event(&b, &b.Events[i])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if w.depth == 0 {
		w.entries = append(w.entries, uint64(w.now-w.end))
	} else { // the last call never ended
		w.leave(true)
		w.entries = append(w.entries, 0)
	}
	return nil
}

func (w *twin) event(b *trace.Batch, e *trace.Event) {
	w.now = e.Time
	if !w.started {
		w.started, w.end = true, e.Time
	}
	words := b.Words(e)
	switch e.Kind {
	case trace.Enter, trace.CallingContextEnter:
		region := e.Ref
		if e.Kind == trace.CallingContextEnter {
			region, _ = w.in.Defs.ContextRegion(uint32(words[0]))
		}
		switch {
		case w.depth > 0:
			w.depth++
		case w.tables.region(region).class&trace.ClassMPI != 0:
			w.depth, w.region, w.enter, w.acts = 1, region, e.Time, false
			w.open()
		}
	case trace.Leave, trace.CallingContextLeave:
		if w.depth > 0 {
			if w.depth--; w.depth == 0 {
				w.leave(false)
			}
		}
	default:
		known := recordKinds[e.Kind].kind
		if known == recNone {
			return
		}
		outside := w.depth == 0
		if outside {
			w.region, w.enter, w.acts = trace.Undefined, e.Time, false
			w.open()
		}
		if !w.record(known, e.Kind, words) && outside { // says nothing
			w.calls, w.ops, w.lists = w.calls[:len(w.calls)-1], w.ops[:len(w.ops)-1], w.lists[:len(w.lists)-1]
			return
		}
		if outside {
			w.leave(false)
		}
	}
}

func (w *twin) open() {
	w.calls = append(w.calls, plainCall{Region: w.region})
	w.ops, w.lists = append(w.ops, nil), append(w.lists, nil)
}

func (w *twin) leave(cut bool) {
	r := w.tables.region(w.region)
	separate := w.acts && r.class&trace.ClassInit == 0 || r.probe && !w.acts
	if separate {
		w.entries = append(w.entries, uint64(w.enter-w.end))
	} else {
		w.entries = append(w.entries, uint64(w.now-w.end))
	}
	w.end = w.now
	call := len(w.calls) - 1
	if r.probe && !w.acts {
		w.probes = append(w.probes, probeAt{call})
	} else if w.acts && r.class&trace.ClassInit == 0 {
		w.probes = nil
	}
}

// record reports whether the record counts.
func (w *twin) record(k recordKind, kind trace.Kind, words []uint64) bool {
	call := len(w.calls) - 1
	post := func(a plainAction, known bool) *twinPost {
		p := &twinPost{action: a, call: call, known: known}
		w.ops[call] = append(w.ops[call], p)
		return p
	}
	probed := func(p *twinPost) {
		for _, x := range w.probes {
			p.probed = append(p.probed, x.call)
			w.ops[x.call] = append(w.ops[x.call], p)
		}
		w.probes = nil
	}
	switch k {
	case recSend, recRecv:
		a, ok := w.message(k == recRecv, words)
		if !ok {
			return false
		}
		p := post(a, true)
		p.done, p.block = true, true
		w.lists[call] = append(w.lists[call], p)
		if k == recRecv {
			probed(p)
		}
	case recColl:
		a, ok := w.collective(words)
		if !ok {
			return false
		}
		p := post(a, true)
		p.done, p.block = true, true
		w.lists[call] = append(w.lists[call], p)
	case recIsend:
		a, ok := w.message(false, words)
		p := post(a, ok)
		p.request = true
		w.requests[words[4]] = p
	case recIrecv, recIcoll:
		p := post(plainAction{}, false)
		p.request = true
		w.requests[words[0]] = p
		if k == recIrecv {
			probed(p)
		}
	case recSendDone:
		w.complete(words[0])
	case recIrecvDone:
		a, ok := w.message(true, words)
		p := w.complete(words[4])
		if p == nil && ok {
			p = post(a, ok)
			p.block, p.done = true, true
			w.lists[call] = append(w.lists[call], p)
		} else if p != nil {
			p.action, p.known = a, ok
		}
	case recIcollDone:
		a, ok := w.collective(words)
		p := w.complete(words[5])
		if p == nil && ok {
			p = post(a, ok)
			p.block, p.done = true, true
			w.lists[call] = append(w.lists[call], p)
		} else if p != nil {
			p.action, p.known = a, ok
		}
	case recCancel:
		if p := w.requests[words[0]]; p != nil {
			p.cancel = true
			delete(w.requests, words[0])
		}
	case recFile:
		post(plainAction{Kind: simnet.FileIO, Bytes: words[3]}, true)
	}
	_ = kind
	w.acts = true
	return true
}

func (w *twin) complete(id uint64) *twinPost {
	p := w.requests[id]
	if p == nil {
		return nil
	}
	delete(w.requests, id)
	p.done = true
	w.lists[len(w.calls)-1] = append(w.lists[len(w.calls)-1], p)
	return p
}

func (w *twin) message(receive bool, words []uint64) (plainAction, bool) {
	d := w.in.Defs
	comm := uint32(words[1])
	number, ok := w.tables.number[comm]
	peer := d.Peer(comm, uint32(words[0]), w.process)
	if !ok || peer == trace.UnknownProcess {
		return plainAction{}, false
	}
	a := plainAction{Kind: simnet.PostSend, Comm: number, Partner: int64(peer), Tag: uint32(words[2]), Bytes: words[3]}
	if receive {
		a.Kind = simnet.PostRecv
	}
	return a, true
}

func (w *twin) collective(words []uint64) (plainAction, bool) {
	number, ok := w.tables.number[uint32(words[1])]
	kind, varying, known := collKind(words[0])
	if _, member := w.in.Defs.RankIn(uint32(words[1]), w.process); !ok || !known || !member || w.tables.kinds[number] != commPlain {
		return plainAction{}, false
	}
	a := plainAction{Kind: simnet.PostColl, Coll: kind, Comm: number}
	if varying {
		a.Flags = simnet.Varying
	}
	size := w.tables.comms[number].Size
	if kind.Rooted() && words[2] < uint64(size) {
		a.Partner = int64(words[2])
	}
	a.Bytes, a.Recv = collBytes(kind, size, words[3], words[4])
	return a, true
}

// finish puts the actions of the calls together.
func (w *twin) finish() {
	var open []*twinPost
	for c := range w.calls {
		call := &w.calls[c]
		r := w.tables.region(call.Region)
		var early, posts, waits []plainAction
		for _, p := range w.ops[c] {
			a := p.action
			if slices.Contains(p.probed, c) {
				if p.known && p.done {
					a.Kind, a.Bytes = simnet.ProbeRecv, 0
					posts = append(posts, a)
				}
				continue
			}
			if !p.known || p.cancel || a.Kind == simnet.PostRecv && !p.done {
				continue
			}
			if p.request && !p.done {
				a.Flags |= simnet.Detached
			} else if a.Kind != simnet.FileIO {
				open = append(open, p)
			}
			if a.Kind == simnet.PostSend {
				a.Kind = r.post
			}
			if p.block && a.Kind == simnet.PostRecv {
				early = append(early, a)
			} else {
				posts = append(posts, a)
			}
		}
		for _, p := range w.lists[c] {
			if !p.known {
				continue
			}
			a := p.action
			a.Bytes, a.Recv, a.Flags = 0, 0, 0
			switch a.Kind {
			case simnet.PostSend:
				a.Kind = simnet.WaitSend
			case simnet.PostRecv:
				a.Kind = simnet.WaitRecv
			default:
				a = plainAction{Kind: simnet.WaitColl, Comm: a.Comm}
			}
			for _, q := range open {
				if q == p {
					break
				}
				x, y := q.action, p.action
				if x.Kind == y.Kind && x.Comm == y.Comm && (x.Kind == simnet.PostColl || x.Partner == y.Partner && x.Tag == y.Tag) {
					a.Age++
				}
			}
			open = slices.DeleteFunc(open, func(q *twinPost) bool { return q == p })
			waits = append(waits, a)
		}
		call.Actions = slices.Concat(early, posts, waits)
		if len(early)+len(posts) == 1 && len(waits) == 1 && w.lists[c][0].block {
			call.Actions[0].Flags |= simnet.Blocking
		}
		if r.class&trace.ClassInit != 0 {
			call.Actions = nil
		}
	}
}

// checkTwin compares program and vectors of one process with its events.
func checkTwin(in *Input, t *tables, process uint32) error {
	l, err := in.Location(in.processes[process].First)
	if err != nil {
		return err
	}
	w := &twin{in: in, tables: t, process: process, requests: map[uint64]*twinPost{}}
	if err := w.follow(l); err != nil {
		return err
	}
	w.finish()
	got := unrolled(in, process)
	if len(got) != len(w.calls) {
		return fmt.Errorf("process %d: %d calls, the events have %d", process, len(got), len(w.calls))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], w.calls[i]) && len(got[i].Actions)+len(w.calls[i].Actions) > 0 {
			return fmt.Errorf("process %d, call %d:\n got %+v\nwant %+v", process, i, got[i], w.calls[i])
		}
	}
	ticks := make([]uint64, in.Vectors.Entries(process))
	if err := in.Vectors.Ticks(process, 0, ticks); err != nil {
		return err
	}
	if !slices.Equal(ticks, w.entries) {
		for i := range min(len(ticks), len(w.entries)) {
			if ticks[i] != w.entries[i] {
				return fmt.Errorf("process %d, entry %d of %d: %d, the events say %d (of %d)", process, i, len(ticks), ticks[i], w.entries[i], len(w.entries))
			}
		}
		return fmt.Errorf("process %d: %d entries, the events have %d", process, len(ticks), len(w.entries))
	}
	return nil
}

// archives returns the folder of real traces.
func archives(t testing.TB) string {
	dir, err := filepath.Abs("../../shared/traces")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no archives: %v", err)
	}
	return dir
}

// TestArchives compares the programs of real traces with their events.
func TestArchives(t *testing.T) {
	dir := archives(t)
	list, err := filepath.Glob(filepath.Join(dir, "otf2", "*", "*.otf2"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
	}
	for _, path := range list {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Skip(err)
			}
			defer src.Close()
			f, err := graphsOf(src)
			if err != nil {
				t.Skip(err)
			}
			in := inputs(t, f, 1)[0]
			tables := newTables(in.Defs)
			var calls uint64
			for p := range in.Processes() {
				if err := checkTwin(in, tables, p); err != nil {
					t.Fatal(err)
				}
				calls += in.Calls(p)
			}
			t.Logf("%d calls, %d nodes, %d actions, left %+v", calls, len(in.Program.Nodes), len(in.Program.Actions), in.Left)
		})
	}
}

// archive makes the call graphs of a real trace.
func archive(t testing.TB, dir, name string) *graphFile {
	t.Helper()
	src, err := otf2.OpenPath(filepath.Join(dir, "otf2", name, "traces.otf2"))
	if err != nil {
		t.Skip(err)
	}
	defer src.Close()
	f, err := graphsOf(src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
