package main

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// checkJSON is what tests read of a check.
type checkJSON struct {
	Events      uint64 `json:"events"`
	Diagnostics []struct {
		Code  string `json:"code"`
		Count uint64 `json:"count"`
	} `json:"diagnostics"`
	Check struct {
		Clean    bool   `json:"clean"`
		Found    uint64 `json:"found"`
		Rows     uint64 `json:"rows"`
		LostRows uint64 `json:"lost_rows"`
		Problems []struct {
			Kind     string  `json:"kind"`
			Location *uint64 `json:"location"`
			Array    string  `json:"array"`
			Text     string  `json:"text"`
		} `json:"problems"`
		Compared struct {
			Calls       uint64 `json:"calls"`
			Messages    uint64 `json:"messages"`
			Mates       uint64 `json:"mates"`
			Collectives uint64 `json:"collectives"`
			Channels    uint64 `json:"channels"`
			Graphs      uint64 `json:"call_graphs"`
		} `json:"compared"`
	} `json:"check"`
}

func checkOf(t *testing.T, path string) (int, checkJSON) {
	t.Helper()
	code, out, errs := call("check", path, "--format", "json")
	if errs != "" {
		t.Fatalf("check %s: %s", path, errs)
	}
	var v checkJSON
	decode(t, out, &v)
	return code, v
}

// TestCheckClean finds nothing wrong with what an analysis writes, whatever the
// trace was like.
func TestCheckClean(t *testing.T) {
	t.Parallel()
	for _, spec := range programs {
		dir := analysed(t, spec)
		code, got := checkOf(t, filepath.Join(dir, "run.xtf"))
		if code != jobs.ExitDone || !got.Check.Clean || got.Check.Found != 0 {
			t.Errorf("%s: exit code %d: %+v", spec, code, got.Check.Problems)
		}
		c := got.Check.Compared
		if c.Calls == 0 || c.Messages == 0 || c.Mates == 0 || c.Channels == 0 || c.Graphs == 0 {
			t.Errorf("%s: compared %+v", spec, c)
		}
	}
}

// TestRestIsTold: check and info tell what a run left next to its result, and what to do; the result is sound.
func TestRestIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(analysed(t, "ring:procs=2,events=100,seed=1"), "run.xtf")
	if err := errors.Join(os.Mkdir(path+".work", 0o777), os.WriteFile(path+".lock", []byte("{}"), 0o666)); err != nil {
		t.Fatal(err)
	}
	want := path + ".lock and " + path + ".work: left by another run"
	for _, verb := range []string{"check", "info"} {
		for _, format := range []string{"text", "json"} {
			if code, out, errs := call(verb, path, "--format", format); code != jobs.ExitDone || !strings.Contains(out, want) {
				t.Errorf("%s as %s: exit code %d: %s%s", verb, format, code, out, errs)
			}
		}
	}
}

// alter copies a run and lets change see every row. Pages and checksums of the
// copy are sound.
func alter(t *testing.T, from, to string, change func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte)) {
	t.Helper()
	alterAll(t, from, to, change, func(_ xtf.Proc, _ uint32, b []byte) []byte { return b })
}

// alterAll lets part change sections and blobs, too.
func alterAll(t *testing.T, from, to string, change func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte), part func(p xtf.Proc, kind uint32, b []byte) []byte) {
	t.Helper()
	f, err := callview.OpenFile(from, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := xtftest.NewFileWriter(out, f.Types(), f.FileID(), &xtftest.MemorySink{})
	for p := range xtf.Proc(f.Procs() + 1) {
		if p == xtf.Proc(f.Procs()) {
			p = xtf.WholeRun
		}
		alterRegion(t, f, w, p, change, part)
	}
	var sections []xtf.Blob
	for _, kind := range []uint32{xtf.KindDefinitions, xtf.KindProvenance, xtf.KindCCG, xtf.KindNames} {
		b, err := f.SectionBytes(kind)
		if err != nil {
			t.Fatal(err)
		}
		sections = append(sections, xtf.BytesBlob(kind, 1, 0, part(xtf.WholeRun, kind, b)))
	}
	if err := w.Commit(sections); err != nil {
		t.Fatal(err)
	}
}

func alterRegion(t *testing.T, f *xtf.File, w *xtftest.FileWriter, p xtf.Proc, change func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte), part func(p xtf.Proc, kind uint32, b []byte) []byte) {
	t.Helper()
	types, err := f.Arrays(p)
	if err != nil {
		t.Fatal(err)
	}
	enc := xtf.NewEncoder()
	var arrays []xtf.FinishedArray
	for _, id := range types {
		a, err := f.Array(p, id)
		if err != nil {
			t.Fatal(err)
		}
		sink := &xtftest.MemorySink{}
		b := xtf.NewArrayBuilder(enc, a.Type(), p, sink)
		rows := a.Rows(0, a.Len())
		for rows.Next() {
			row, n := b.Append()
			copy(row, rows.Row())
			change(p, id, n, row)
		}
		sum, err := b.Finish()
		if err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		arrays = append(arrays, xtf.FinishedArray{Summary: sum, Data: sink})
	}
	infos, err := f.Blobs(p)
	if err != nil {
		t.Fatal(err)
	}
	var blobs []xtf.Blob
	for _, i := range infos {
		b, err := f.BlobBytes(p, i.Kind)
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, xtf.BytesBlob(i.Kind, i.Version, i.Flags, part(p, i.Kind, b)))
	}
	plan, err := xtf.PlanRegion(f.Types(), p, arrays, blobs)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Dir(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Region(plan, d.Process, d.Thread, d.Events); err != nil {
		t.Fatal(err)
	}
}

// add32 and add64 change one column of one row.
func add32(off int) func(row []byte) {
	return func(row []byte) { xtf.SetU32(row, off, xtf.U32(row, off)+1) }
}

func add64(off int) func(row []byte) {
	return func(row []byte) { xtf.SetU64(row, off, xtf.U64(row, off)+1) }
}

// TestCheckContradictions changes single numbers of a sound run: every one has
// to be noticed, and named.
func TestCheckContradictions(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	dir := analysed(t, "stencil:procs=4,events=4k,jitter=20,seed=1")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	alter(t, run, bad, func(xtf.Proc, xtf.TypeID, uint64, []byte) {})
	if code, got := checkOf(t, bad); code != 0 {
		t.Fatalf("an unchanged copy: exit code %d: %+v", code, got.Check.Problems)
	}
	for _, x := range []struct {
		name   string
		p      xtf.Proc
		id     xtf.TypeID
		n      uint64
		change func(row []byte)
		array  string // where it is noticed
	}{
		{"end of a call", 1, xtf.TypeCall, 40, add64(xtf.CallEnd), "CALL"},
		{"exclusive time", 1, xtf.TypeCall, 40, add64(xtf.CallExclusive), "CALL"},
		{"parent", 1, xtf.TypeCall, 40, add64(xtf.CallParent), "CALL"},
		{"depth", 1, xtf.TypeCall, 40, add32(xtf.CallDepth), "CALL"},
		{"region", 1, xtf.TypeCall, 40, add32(xtf.CallRegion), "TIMEBIN"},
		{"class flag", 1, xtf.TypeCall, 0, func(r []byte) {
			xtf.SetU32(r, xtf.CallFlags, xtf.U32(r, xtf.CallFlags)|xtf.FlagOutermostMPI)
		}, "COMP"},
		{"bytes of a message", 2, xtf.TypeP2P, 9, add64(xtf.P2PBytes), "COMP"},
		{"mate's row", 2, xtf.TypeP2P, 9, add64(xtf.P2PMateN), "P2P"},
		{"mate's location", 2, xtf.TypeP2P, 9, func(r []byte) { xtf.SetU32(r, xtf.P2PMateP, 0x7fff) }, "P2P"},
		{"mate's time", 2, xtf.TypeP2P, 9, add64(xtf.P2PMateT), "P2P"},
		{"place in the channel", 2, xtf.TypeP2P, 9, add64(xtf.P2PSeq), "P2P"},
		{"tag", 2, xtf.TypeP2P, 9, add32(xtf.P2PTag), "P2P"},
		{"peer", 2, xtf.TypeP2P, 9, add32(xtf.P2PPeer), "P2P"},
		{"side", 2, xtf.TypeP2P, 9, func(r []byte) { xtf.SetU32(r, xtf.P2PKind, xtf.U32(r, xtf.P2PKind)^1) }, "P2P"},
		{"last enter", 0, xtf.TypeColl, 3, add64(xtf.CollLastEnter), "COLL"},
		{"first leave", 0, xtf.TypeColl, 3, func(r []byte) { xtf.SetU64(r, xtf.CollFirstLeave, xtf.U64(r, xtf.CollFirstLeave)-1) }, "COLL"},
		{"bytes of a collective", 0, xtf.TypeColl, 3, add64(xtf.CollSent), "COMP"},
		{"channel count", 3, xtf.TypeChannel, 1, add64(24), "CHANNEL"},
		{"channel bytes", 3, xtf.TypeChannel, 2, add64(32), "CHANNEL"},
		{"channel entry", 3, xtf.TypeChan, 4, add64(0), "CHAN"},
		{"component", 3, xtf.TypeComp, 2, add64(8), "COMP"},
		{"begin of a wait", 1, xtf.TypeWait, 3, func(r []byte) { xtf.SetU64(r, 0, xtf.U64(r, 0)-1) }, "WAIT"},
		{"end of a wait", 1, xtf.TypeWait, 3, add64(8), "WAIT"},
		{"what was waited for", 1, xtf.TypeWait, 3, add64(16), "WAIT"},
		{"pattern of a wait", 1, xtf.TypeWait, 3, add32(28), "WAIT"},
		{"interval of a wait", 1, xtf.TypeWait, 3, add32(32), "WAITSUM"},
		{"call path of a wait", 1, xtf.TypeWait, 3, add32(36), "WAITSUM"},
		{"number of waits", 1, xtf.TypeWaitSum, 0, add64(16), "WAITSUM"},
		{"ticks of all waits", xtf.WholeRun, xtf.TypeWaitTotal, 0, add64(24), "WAITTOTAL"},
		{"cost of a delay", 1, xtf.TypeDelay, 0, add64(16), "DELAY"},
		{"pattern of a delay", 1, xtf.TypeDelay, 0, add32(8), "DELAYTOTAL"},
		{"costs of all delays", xtf.WholeRun, xtf.TypeDelayTotal, 0, add64(24), "DELAYTOTAL"},
		{"end of a piece of the critical path", 1, xtf.TypeCPath, 1, add64(8), "CPATH"},
		{"activity on the critical path", 1, xtf.TypeCPath, 1, add32(20), "PATHTOTAL"},
		{"largest part of the critical path", xtf.WholeRun, xtf.TypePathTotal, 0, add64(24), "PATHTOTAL"},
		{"profile", 3, xtf.TypeTimeBin, 2, add64(24), "TIMEBIN"},
		{"whole profile", xtf.WholeRun, xtf.TypeTimeBin, 2, add64(24), "TIMEBIN"},
		{"sum over processes", xtf.WholeRun, xtf.TypeStat, 1, add64(8), "STAT"},
		{"largest process", xtf.WholeRun, xtf.TypeStat, 1, add32(68), "STAT"},
		{"end of the run", xtf.WholeRun, xtf.TypeInterval, 0, add64(72), "INTERVAL"},
	} {
		changed := false
		alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
			if p == x.p && id == x.id && n == x.n {
				x.change(row)
				changed = true
			}
		})
		code, got := checkOf(t, bad)
		named := slices.ContainsFunc(got.Check.Problems, func(p struct {
			Kind     string  `json:"kind"`
			Location *uint64 `json:"location"`
			Array    string  `json:"array"`
			Text     string  `json:"text"`
		},
		) bool {
			return p.Array == x.array && p.Kind == "contradiction"
		})
		if !changed || code != jobs.ExitFound || !named {
			t.Errorf("%s: changed %v, exit code %d, not found in %s: %+v", x.name, changed, code, x.array, got.Check.Problems)
		}
	}
}

// TestForgedSums changes the numbers of every array that adds up waits, their causes and the critical path, row by row, under sound
// checksums: check names the array each time, though another one may say the same.
func TestForgedSums(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	dir := t.TempDir()
	must(t, "demo", "-o", filepath.Join(dir, "demo"), "--spec", "stencil:procs=3,events=300,jitter=20,imbalance=40,seed=3")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	must(t, "analyze", filepath.Join(dir, "demo"), "-o", run, "-q", "--slice", "700us")
	arrays := map[xtf.TypeID]struct {
		name string
		at   []int // of the numbers, of 64 bits
	}{
		xtf.TypeComp: {"COMP", []int{8}}, xtf.TypeStat: {"STAT", []int{8, 24, 48, 56}}, xtf.TypeWaitSum: {"WAITSUM", []int{16, 24}},
		xtf.TypeWaitTotal: {"WAITTOTAL", []int{16, 24, 32}}, xtf.TypeDelay: {"DELAY", []int{16, 24}},
		xtf.TypeDelayTotal: {"DELAYTOTAL", []int{16, 24, 32}}, xtf.TypePathTotal: {"PATHTOTAL", []int{16, 24}},
	}
	type place struct {
		p  xtf.Proc
		id xtf.TypeID
		n  uint64
	}
	var places []place
	nodes := map[uint64]bool{} // with waits
	alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
		if _, ok := arrays[id]; !ok {
			return
		}
		if id == xtf.TypeComp || id == xtf.TypeStat {
			item := xtf.Item(uint32(xtf.U64(row, 0)))
			critical := item >= xtf.ItemCriticalCPU && item <= xtf.ItemCriticalMarker
			if !critical && (item < xtf.ItemLateSender || item > xtf.ItemWaitCount && item != xtf.ItemLateProgress) {
				return
			}
			nodes[xtf.U64(row, 0)>>32] = true
		}
		places = append(places, place{p, id, n})
	})
	step := 1
	if testing.Short() {
		step = 1 + len(places)/40
	}
	if len(nodes) < 2 {
		t.Fatalf("waits in %d nodes", len(nodes))
	}
	tried := map[string]int{}
	for i := 0; i < len(places); i += step {
		x := places[i]
		array := arrays[x.id]
		for _, at := range array.at {
			for _, by := range []uint64{1, 1 << 63} {
				alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
					if x == (place{p, id, n}) {
						xtf.SetU64(row, at, xtf.U64(row, at)+by)
					}
				})
				tried[array.name]++
				if code, out, errs := call("check", bad, "--limit", "1000"); code != jobs.ExitFound || !strings.Contains(out, ", "+array.name) {
					t.Errorf("%s row %d of %d, byte %d by %d: exit code %d: %s%s", array.name, x.n, x.p, at, by, code, out, errs)
				}
			}
		}
	}
	t.Logf("%v", tried)
}

// TestForgedProvenance predicts from a file that names intervals which no analysis has: the input is wrong, not coppice.
func TestForgedProvenance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", filepath.Join(dir, "demo"), "--spec", "ring:procs=2,events=200,seed=3")
	run, bad, network := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf"), filepath.Join(dir, "net.toml")
	must(t, "analyze", filepath.Join(dir, "demo"), "-o", run, "-q", "--slice-count", "3")
	alterAll(t, run, bad, func(xtf.Proc, xtf.TypeID, uint64, []byte) {}, func(_ xtf.Proc, kind uint32, b []byte) []byte {
		if kind == xtf.KindProvenance {
			b = bytes.Replace(b, []byte("slice-count=3"), []byte("slice-count=x"), 1)
		}
		return b
	})
	if err := os.WriteFile(network, []byte("schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 1000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call("predict", bad, "--platform", network, "-o", filepath.Join(dir, "out.xtf")); code != jobs.ExitInput || !strings.Contains(errs, "the intervals of the recorded run") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestForgedPatterns moves direct costs of a delay to another pattern, alike in DELAY and DELAYTOTAL, so that all sums agree. Waits for
// the location allow at most so much in each pattern, and exactly that where the location does not wait itself; what it passes on hides
// the rest.
func TestForgedPatterns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", filepath.Join(dir, "demo"), "--spec", "irregular:procs=5,events=3k,jitter=50,seed=7")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	must(t, "analyze", filepath.Join(dir, "demo"), "-o", run, "-q")
	type place struct {
		p xtf.Proc
		n uint64
	}
	rows := map[place]xtf.Delay{}
	alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
		if id == xtf.TypeDelay {
			var x xtf.Delay
			x.Load(row)
			rows[place{p, n}] = x
		}
	})
	tried, caught := 0, 0
	places := slices.SortedFunc(maps.Keys(rows), func(a, b place) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.n, b.n)) })
	for _, from := range places {
		for _, to := range places {
			x, y := rows[from], rows[to]
			if testing.Short() && tried >= 30 || from.p != to.p || x.Key != y.Key || x.Activity != y.Activity || x.Pattern == y.Pattern || x.Short == 0 {
				continue
			}
			x.Short, y.Short = 0, y.Short+x.Short
			type total struct {
				key               uint64
				pattern, activity uint32
			}
			sums := map[total]xtf.DelayTotal{}
			for _, at := range places {
				z := rows[at]
				switch at {
				case from:
					z = x
				case to:
					z = y
				}
				s := sums[total{z.Key, z.Pattern, z.Activity}]
				s.Short, s.Long = s.Short+z.Short, s.Long+z.Long
				if z.Short+z.Long > s.Worst {
					s.Worst, s.WorstP = z.Short+z.Long, uint32(at.p)
				}
				sums[total{z.Key, z.Pattern, z.Activity}] = s
			}
			alter(t, run, bad, func(p xtf.Proc, id xtf.TypeID, n uint64, row []byte) {
				switch {
				case id == xtf.TypeDelay && from == place{p, n}:
					x.Put(row)
				case id == xtf.TypeDelay && to == place{p, n}:
					y.Put(row)
				case id == xtf.TypeDelayTotal:
					var z xtf.DelayTotal
					z.Load(row)
					s := sums[total{z.Key, z.Pattern, z.Activity}]
					z.Short, z.Long, z.Worst, z.WorstP = s.Short, s.Long, s.Worst, s.WorstP
					z.Put(row)
				}
			})
			tried++
			if code, out, _ := call("check", bad); code == jobs.ExitFound {
				caught++
				if !strings.Contains(out, ", DELAY") || strings.Contains(out, "DELAYTOTAL") {
					t.Errorf("%v to %v: %s", from, to, out)
				}
			}
		}
	}
	if t.Logf("%d of %d", caught, tried); tried == 0 || caught <= tried/2 {
		t.Errorf("%d of %d moves are found", caught, tried)
	}
}

// TestCheckDamage flips bytes all over a file: check never calls it clean
// unless the byte is padding, and no verb crashes.
func TestCheckDamage(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=3,events=2k,seed=1")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	whole, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	sound := must(t, "report", run, "summary", "profile", "comm", "ccg", "diagnostics")
	found := 0
	step := len(whole)/60 + 1
	if testing.Short() {
		step *= 3
	}
	for at := 0; at < len(whole); at += step {
		b := slices.Clone(whole)
		b[at] ^= 0x10
		if err := os.WriteFile(bad, b, 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, errs := call("check", bad)
		if code == jobs.ExitFound {
			found++
		}
		if code != jobs.ExitFound && code != jobs.ExitInput && code != jobs.ExitDone || strings.Contains(out+errs, "bug of coppice") {
			t.Errorf("byte %d: check ends with %d: %s%s", at, code, out, errs)
		}
		for _, args := range [][]string{
			{"report", bad, "summary", "profile", "comm", "ccg", "diagnostics"},
			{"info", bad},
			{"query", bad, "rows", "--rank", "1", "--type", "p2p"},
		} {
			rc, out, errs := call(args...)
			if rc != 0 && rc != jobs.ExitInput && rc != jobs.ExitPartial || strings.Contains(errs, "bug of coppice") {
				t.Errorf("byte %d: %s ends with %d: %s", at, args[0], rc, errs)
			}
			out = strings.ReplaceAll(strings.ReplaceAll(out, bad, run), "bad.xtf", "run.xtf")
			if args[0] == "report" && code == jobs.ExitDone && out != sound {
				t.Errorf("byte %d: check finds the file clean, its report differs:\n%s", at, out)
			}
		}
	}
	if found < 20/(step*60/len(whole)+1) {
		t.Errorf("%d of the flips were found", found)
	}
}

// TestCheckIncomplete checks results that do not open: what is readable of them is
// told, and the exit code says that they cannot be read.
func TestCheckIncomplete(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=3,events=2k,seed=1")
	whole, err := os.ReadFile(filepath.Join(dir, "run.xtf"))
	if err != nil {
		t.Fatal(err)
	}
	_, sound := checkOf(t, filepath.Join(dir, "run.xtf"))
	for _, x := range []struct {
		name   string
		damage func(b []byte) []byte
		all    bool   // every row is readable
		says   string // on standard error
	}{
		{"run.xtf.out.1", func(b []byte) []byte { clear(b[:xtf.SuperblockSize]); return b }, true, "not committed"},
		{"torn.xtf", func(b []byte) []byte { b[100] ^= 1; return b }, true, "not committed"},
		{"cut.xtf", func(b []byte) []byte { return b[:len(b)/2] }, false, "analyze the trace again"},
		{"footer.xtf", func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, true, "corrupt"},
	} {
		bad := filepath.Join(dir, x.name)
		if err := os.WriteFile(bad, x.damage(slices.Clone(whole)), 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, errs := call("check", bad)
		if code != jobs.ExitInput || !strings.Contains(errs, x.says) || !strings.Contains(out, "readable: location with ordinal 0") {
			t.Errorf("%s: exit code %d: %s%s", x.name, code, out, errs)
		}
		code, out, _ = call("check", bad, "--format", "json")
		var v struct {
			Check struct {
				Clean    bool   `json:"clean"`
				Found    uint64 `json:"found"`
				Rows     uint64 `json:"rows"`
				LostRows uint64 `json:"lost_rows"`
				Readable []struct {
					Ordinal *uint32 `json:"ordinal"`
					Arrays  []struct {
						Name           string
						Rows, Readable uint64
					} `json:"arrays"`
				} `json:"readable"`
			} `json:"check"`
		}
		decode(t, out, &v)
		if code != jobs.ExitInput || v.Check.Clean || v.Check.Found == 0 || len(v.Check.Readable) == 0 {
			t.Errorf("%s: exit code %d: %+v", x.name, code, v.Check)
		}
		if all := v.Check.Rows == sound.Check.Rows && v.Check.LostRows == 0; all != x.all || v.Check.Rows == 0 {
			t.Errorf("%s: %d rows of %d are readable, %d lost", x.name, v.Check.Rows, sound.Check.Rows, v.Check.LostRows)
		}
	}
}

// TestPartialReport damages one location: the others are reported, the loss is
// told, and the exit code says so.
func TestPartialReport(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=3,events=2k,seed=1")
	run, bad := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "bad.xtf")
	f, err := callview.OpenFile(run, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Dir(1)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	b[d.HeadOff+70] ^= 1
	if err := os.WriteFile(bad, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"profile", "comm", "ccg", "diagnostics"} {
		code, out, errs := call("report", bad, section)
		if code != jobs.ExitPartial || !strings.Contains(out, "left out of "+section+": location 1 (process 1, thread 0)") || !strings.Contains(errs, "Copy the file again") {
			t.Errorf("%s: exit code %d\n%s\n%s", section, code, out, errs)
		}
	}
	for _, primitive := range []string{"window", "interval", "timeline"} {
		code, out, errs := call("query", bad, primitive)
		if code != jobs.ExitPartial || !strings.Contains(out, "left out of "+primitive+": location 1 (process 1, thread 0)") || !strings.Contains(errs, "leaves") {
			t.Errorf("%s: exit code %d\n%s\n%s", primitive, code, out, errs)
		}
	}
	if code, out, errs := call("report", bad); code != jobs.ExitPartial || !strings.Contains(out, "left out of findings: location 1 (process 1, thread 0)") {
		t.Errorf("the numbers of the summary need no location, its findings do: exit code %d: %s", code, errs)
	}
	code, got := checkOf(t, bad)
	if code != jobs.ExitFound || len(got.Check.Problems) == 0 {
		t.Errorf("check: exit code %d, %+v", code, got.Check)
	}
	if code, _, _ := call("info", bad); code != jobs.ExitPartial {
		t.Errorf("info: exit code %d", code)
	}
}

// TestPartialInput analyses an archive without one of its event files.
func TestPartialInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=3,events=2k,seed=1")
	if err := os.Remove(filepath.Join(dir, "traces", "1.evt")); err != nil {
		t.Fatal(err)
	}
	anchor, run := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", anchor, "-o", run, "-q", "-j", "2"); code != jobs.ExitPartial {
		t.Fatalf("analyze: exit code %d: %s", code, errs)
	}
	if out := must(t, "report", run); !strings.Contains(out, "partial: the input was damaged or incomplete") {
		t.Errorf("the report does not say so:\n%s", out)
	}
	if got := jsonOf[reportJSON](t, "report", run); !got.Summary.Partial {
		t.Error("JSON does not say partial")
	}
	if code, _, errs := call("report", run, "--strict"); code != jobs.ExitPartial || !strings.Contains(errs, "--strict refuses") {
		t.Errorf("--strict: exit code %d: %s", code, errs)
	}
	if out := must(t, "check", run); !strings.Contains(out, "note: the input of the analysis was damaged") {
		t.Errorf("check of the sound result of a damaged input:\n%s", out)
	}
	code, got := checkOf(t, anchor)
	if code != jobs.ExitFound || len(got.Diagnostics) == 0 || got.Diagnostics[0].Code != trace.DiagMissingEvents.String() {
		t.Errorf("check of the archive: exit code %d, %+v", code, got)
	}
	if out := must(t, "info", anchor); !strings.Contains(out, "no events of 1 location, for which the definitions announce some") {
		t.Errorf("info does not tell what is missing:\n%s", out)
	}
}

// TestCheckArchive finds the faults that were planted in an archive.
func TestCheckArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "irregular:procs=4,events=4k,seed=3,broken=stray-leave+open-call+dangling-region+dangling-comm")
	code, got := checkOf(t, filepath.Join(dir, "traces.otf2"))
	if code != jobs.ExitFound {
		t.Errorf("exit code %d", code)
	}
	counts := map[string]uint64{}
	for _, d := range got.Diagnostics {
		counts[d.Code] = d.Count
	}
	if counts["stray-leave"] != 1 || counts["open-call"] != 2 || counts["bad-reference"] < 2 {
		t.Errorf("%v", counts)
	}
	if _, again := checkOf(t, filepath.Join(dir, "traces.otf2")); len(again.Check.Problems) != len(got.Check.Problems) {
		t.Error("two checks differ")
	}
}

// TestCheckTasks: calls of tasks that are suspended, and go on elsewhere, are no stray leaves of an archive, whose leave of a call that is
// not open before the first switch is one. Windows, handles and metrics that are not defined are found.
func TestCheckTasks(t *testing.T) {
	t.Parallel()
	archive := archiveOf(t, filepath.Join(t.TempDir(), "archive"), `-- program --
processes 1
-- events --
0 1 ENTER main
0 2 LEAVE work
0 3 ENTER wait
0 4 THREAD_TASK_SWITCH 0 0 1
0 4 ENTER task
0 5 THREAD_TASK_SWITCH 0 0 0
0 6 LEAVE wait
0 7 RMA_PUT 7 0 8 1
0 8 IO_OPERATION_BEGIN 8 READ NONE 800 1
0 9 LEAVE main
`)
	_, got := checkOf(t, archive)
	counts := map[string]uint64{}
	for _, d := range got.Diagnostics {
		counts[d.Code] = d.Count
	}
	if counts["stray-leave"] != 1 || counts["bad-reference"] != 2 || counts["open-call"] != 0 {
		t.Errorf("%v", counts)
	}
	if _, text, _ := call("check", archive); !strings.Contains(text, "note: not looked at: whether calls nest once tasks switch, in 1 location") || !strings.Contains(text, "file handle 8") {
		t.Error(text)
	}
}
