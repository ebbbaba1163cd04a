package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// plainAction is an action with its partner as a process.
type plainAction struct {
	Kind        program.ActionKind
	Flags       program.CallFlags
	Coll        program.CollKind
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
	var walk func(n program.NodeID)
	p := in.Program
	walk = func(n program.NodeID) {
		x := p.Nodes[n]
		switch x.Kind {
		case program.Call:
			c := plainCall{Region: in.Region[n]}
			for _, a := range p.Actions[x.First : x.First+x.Len] {
				c.Actions = append(c.Actions, plain(p, &a, process))
			}
			list = append(list, c)
		case program.Seq:
			for _, c := range p.Children[x.First : x.First+x.Len] {
				walk(c)
			}
		case program.Loop:
			for range x.Count {
				walk(p.Children[x.First])
			}
		}
	}
	walk(p.Roots[process])
	return list
}

func plain(p *program.Program, a *program.Action, process uint32) plainAction {
	x := plainAction{a.Kind, a.Flags, a.Coll, a.Comm, 0, a.Tag, a.Age, a.Bytes, a.Recv}
	if a.Kind == program.PostColl || a.Kind == program.WaitColl || a.Kind == program.FileIO {
		x.Partner = int64(a.Peer)
		return x
	}
	c, own := &p.Comms[a.Comm], int64(process)
	if c.Members != nil {
		own = int64(slices.Index(c.Members, process))
	}
	var rank int64
	switch a.Mode {
	case program.PeerAbsolute:
		rank = int64(a.Peer)
	case program.PeerRelative:
		rank = (own + int64(a.Peer)) % int64(c.Size)
	case program.PeerXor:
		rank = own ^ int64(a.Peer)
	}
	x.Partner = int64(c.Process(uint32(rank)))
	return x
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
	if in.met != never { // MPI_Finalize is a barrier
		w.calls[len(w.calls)-1].Actions = []plainAction{{Kind: program.PostColl, Flags: program.Free}, {Kind: program.WaitColl}}
		w.kept[len(w.kept)-2] -= uint64(in.met - w.enter)
	}
	w.kept = append([]uint64{0}, w.kept[:len(w.kept)-1]...) // after the calls
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
	kept := make([]uint64, len(ticks))
	if err := in.Vectors.Kept().Ticks(process, 0, kept); err != nil {
		return err
	}
	if !slices.Equal(kept, w.kept) {
		return fmt.Errorf("process %d: calls keep %d, the events say %d", process, kept, w.kept)
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
	t.Parallel()
	dir := archives(t)
	list, err := filepath.Glob(filepath.Join(dir, "otf2", "*", "*.otf2"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
	}
	for i, path := range list {
		if testing.Short() && i%5 != 0 {
			continue
		}
		name := filepath.Base(filepath.Dir(path))
		if name == "buffer-endian" {
			continue // contents of buffers, without definitions: no trace
		}
		t.Run(name, func(t *testing.T) {
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			f, err := graphsOf(src)
			if err != nil {
				t.Fatal(err)
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
		t.Fatal(err)
	}
	defer src.Close()
	f, err := graphsOf(src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
