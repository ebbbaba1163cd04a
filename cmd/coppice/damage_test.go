package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

var (
	damaged    = flag.Int("damaged", 0, "TestDamage: damage so many files in all ways, instead of turning bits of some")
	damageSeed = flag.Uint64("damage-seed", 1, "TestDamage: of its random numbers")
)

// teams is a trace of threads that share loops, and of a device.
const (
	teamsText = `
-- program --
processes 2
threads 3
resolution 1000000000
-- events --
0 0 ENTER main
0 10 ENTER parallel
0 35 ENTER implicit
0 40 LEAVE implicit
0 40 LEAVE parallel
0 50 ENTER MPI_Barrier
0 50 MPI_COLLECTIVE_BEGIN
0 60 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 60 LEAVE MPI_Barrier
0 70 ENTER parallel
0 90 LEAVE parallel
0 100 LEAVE main
1 12 ENTER parallel
1 30 ENTER implicit
1 38 LEAVE implicit
1 38 LEAVE parallel
1 71 ENTER parallel
1 90 LEAVE parallel
2 10 ENTER parallel
2 12 ENTER implicit
2 40 LEAVE implicit
2 40 LEAVE parallel
3 0 ENTER main
3 40 ENTER MPI_Barrier
3 40 MPI_COLLECTIVE_BEGIN
3 60 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
3 60 LEAVE MPI_Barrier
3 100 LEAVE main
4 10 ENTER work
4 90 LEAVE work
`
	deviceText = `
-- program --
processes 2
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER MPI_Init
0 30 LEAVE MPI_Init
0 40 ENTER hipMemset
0 50 LEAVE hipMemset
0 50 ENTER hipEventSynchronize
0 90 LEAVE hipEventSynchronize
0 100 ENTER pthread_mutex_lock
0 115 LEAVE pthread_mutex_lock
0 120 ENTER write
0 140 LEAVE write
0 200 ENTER MPI_Send
0 200 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 210 LEAVE MPI_Send
0 240 ENTER MPI_Finalize
0 260 LEAVE MPI_Finalize
0 300 LEAVE main
1 52 ENTER kernel
1 88 LEAVE kernel
2 0 ENTER main
2 150 ENTER MPI_Recv
2 205 MPI_RECV 0 MPI_COMM_WORLD 1 8
2 212 LEAVE MPI_Recv
2 300 LEAVE main
`
)

// roles are what tracers say of the regions of the texts.
var roles = map[string]struct {
	role     trace.RegionRole
	paradigm trace.ParadigmID
}{
	"parallel":            {trace.RoleParallel, trace.ParadigmOpenMP},
	"implicit":            {trace.RoleImplicitBarrier, trace.ParadigmOpenMP},
	"hipMemset":           {trace.RoleWrapper, trace.ParadigmHIP},
	"hipEventSynchronize": {trace.RoleWrapper, trace.ParadigmHIP},
	"kernel":              {trace.RoleFunction, trace.ParadigmHIP},
	"pthread_mutex_lock":  {trace.RoleWrapper, trace.ParadigmPthread},
	"write":               {trace.RoleFileIO, trace.ParadigmUnknown},
}

// writeText writes a trace in text form as the archive traces.otf2 of a folder.
func writeText(t testing.TB, dir, text string) {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	for i := range d.Regions {
		r := &d.Regions[i]
		if x, ok := roles[d.Text(r.Name)]; ok {
			r.Role, r.Paradigm = x.role, x.paradigm
		}
	}
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
}

// damageInputs are runs of different kinds.
var damageInputs = []struct {
	name, spec, text string
	options          []string
}{
	{name: "mpi", spec: "stencil:procs=4,events=900,jitter=20,imbalance=40,seed=3"},
	{name: "threads", text: teamsText},
	{name: "device", text: deviceText},
	{name: "counters", spec: "irregular:procs=3,events=900,seed=7,io,metrics,parameters"},
	{name: "intervals", spec: "stencil:procs=4,events=1200,jitter=5,seed=2", options: []string{"--slice-count", "3", "--classes", "0%"}},
	{name: "graph", spec: "wavefront:procs=3,threads=2,events=600,jitter=10,seed=5", options: []string{"--events", "none", "--deviation", "5%"}},
}

// damageCommands are command lines about a run: RUN is the file that gets
// damaged, SAME a sound copy, OTHER another run, OUT a place for a result,
// MACHINE a platform.
func damageCommands() []string {
	list := []string{
		"report RUN", "report RUN --strict", "report RUN --format json", "report RUN --format html", "report RUN -o OUT.html",
		"report RUN --fail-if efficiency<2", "report RUN intervals --details --per-execution", "report RUN intervals --format json --ordered cpu",
		"report RUN waits --ranks 0 --time 20%..70%", "report RUN pop --ranks 1", "report RUN profile comm --source graph",
		"report RUN profile --ranks 0", "report RUN histogram --region main", "report RUN histogram --region main --of gaps --format json",
		"report RUN summary intervals waits pop profile paths comm classes ccg diagnostics untold --format json",
		"report RUN intervals --time 20%..70% --lang ru",
		"report scaling RUN OTHER", "report scaling OTHER RUN --format json", "report scaling RUN OTHER --format csv",
		"diff RUN OTHER", "diff OTHER RUN --format json", "diff RUN OTHER --format csv", "diff RUN OTHER --format html", "diff RUN SAME",
		"diff RUN OTHER --max-slowdown 5%",
		"info RUN", "info RUN --format json", "check RUN", "check RUN --format json",
		"export RUN --to otf2 -o OUT -q", "export RUN --to otf2 -o OUT -q --strict", "export RUN --to perfetto -o OUT -q", "export RUN --to chrome -o OUT -q",
		"export RUN --to csv -o OUT -q", "export RUN --to parquet -o OUT -q", "export RUN --to arrow --table calls -o OUT -q", "export RUN --to viewer --levels 1 -o OUT -q",
		"capacity extract RUN", "plan predict RUN -- --platform MACHINE",
		"predict RUN --platform MACHINE -q", "predict RUN --platform MACHINE -q --format json -o OUT -j 2", "predict RUN --self-check --host-platform MACHINE -q",
		"query RUN stats --time 20%..70%", "query RUN window --time 20%..70%", "query RUN window --time 10%..90% --ranks 0-1 --exact --format json",
		"query RUN bins --time 0%..100%", "query RUN bins --whole --time 0%..100%", "query RUN members -n 0", "query RUN partner -n 0",
		"query RUN stack --time 50%", "query RUN stack --time 50% --source graph", "query RUN instance --region main -n 0",
		"query RUN interval --time 20%..70%", "query RUN timeline --time 0%..100%", "query RUN walk --time 50%", "query RUN walk --backwards --rank 1 --format json",
		"query RUN search --time 50% --mode le", "query RUN next --time 50% --step -1", "query RUN size --to 50%", "query RUN at -n 3", "query RUN visible --time 40%..50%",
	}
	for _, s := range []string{"intervals", "waits", "pop", "profile", "paths", "comm", "classes", "ccg", "diagnostics", "untold"} {
		list = append(list, "report RUN "+s)
	}
	for _, s := range []string{"intervals", "waits", "pop", "classes"} {
		list = append(list, "report RUN "+s+" --format csv", "report RUN "+s+" --format parquet -o OUT")
	}
	for _, s := range []string{"call", "p2p", "coll", "channel", "chan", "comp", "diag", "wait", "metric", "tile", "delay", "ival"} {
		list = append(list, "query RUN rows --rank 1 --type "+s)
	}
	for _, s := range []string{"stat", "waittotal", "timebin", "interval"} {
		list = append(list, "query RUN rows --whole --type "+s)
	}
	return list
}

// damageBed is a folder in which commands about one run are called again and again.
type damageBed struct {
	dir   string
	sound []byte   // of the run
	lines []string // the commands
	want  []outcomeOf

	files, commands, partial, wrong int // tried; commands with another exit status; with a wrong outcome
}

// outcomeOf is all that a command leaves.
type outcomeOf struct {
	code  int
	out   string // standard output
	errs  string
	files string // what it wrote: names and contents
	panic string
}

func newDamageBed(t *testing.T, i int) *damageBed {
	t.Helper()
	x := damageInputs[i]
	dir := t.TempDir()
	make := func(name string, options ...string) {
		from := filepath.Join(dir, name+".trace")
		if x.text != "" {
			writeText(t, from, x.text)
		} else {
			must(t, "demo", "-o", from, "--spec", x.spec)
		}
		args := append([]string{"analyze", filepath.Join(from, "traces.otf2"), "-o", filepath.Join(dir, name+".xtf"), "-q", "-j", "1"}, options...)
		if code, _, errs := call(args...); code != jobs.ExitDone && code != jobs.ExitPartial {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	make("run", x.options...)
	b := &damageBed{dir: dir, lines: damageCommands()}
	x.spec = strings.Replace(x.spec, "procs=", "iterations=7,procs=1", 1)
	x.text = strings.ReplaceAll(x.text, "100 LEAVE main", "160 LEAVE main")
	make("other", x.options...)
	var err error
	if b.sound, err = os.ReadFile(b.run()); err != nil {
		t.Fatal(err)
	}
	for _, e := range []error{
		os.WriteFile(filepath.Join(dir, "same.xtf"), b.sound, 0o666),
		os.WriteFile(filepath.Join(dir, "machine.toml"), []byte(damageMachine), 0o666),
		os.Mkdir(filepath.Join(dir, "out"), 0o777),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	answered := 0
	for _, line := range b.lines {
		o := b.call(line)
		if o.code < jobs.ExitUsage || o.code == jobs.ExitPartial {
			answered++
		}
		if o.panic != "" || o.code == jobs.ExitInternal {
			t.Errorf("%s of the sound file: exit code %d\n%s%s", line, o.code, o.errs, o.panic)
		}
		if !underRace { // where each call takes long
			if again := b.call(line); again != o {
				t.Errorf("%s of the sound file: twice the same, other output:\n%s", line, firstDifference(o, again))
			}
		}
		b.want = append(b.want, o)
	}
	if answered < len(b.lines)/2 {
		t.Errorf("%s: %d of %d commands have an answer", x.name, answered, len(b.lines))
	}
	return b
}

// damageMachine is a platform of one kind of links.
const damageMachine = `schema = "coppice.platform/1"
name = "small"
[nodes]
ranks_per_node = 2
[links.net]
L_ns = 1000
o_send_ns = 100
o_recv_ns = 100
g_ns = 100
G_ns_per_byte = 0.1
`

func (b *damageBed) run() string { return filepath.Join(b.dir, "run.xtf") }

// call calls a command and gathers what it left.
func (b *damageBed) call(line string) (o outcomeOf) {
	out := filepath.Join(b.dir, "out")
	args := strings.Fields(strings.NewReplacer("RUN", b.run(), "SAME", filepath.Join(b.dir, "same.xtf"), "OTHER", filepath.Join(b.dir, "other.xtf"),
		"MACHINE", filepath.Join(b.dir, "machine.toml"), "OUT", filepath.Join(out, "result")).Replace(line))
	func() {
		defer func() {
			if x := recover(); x != nil {
				o.panic = fmt.Sprintf("%v\n%s", x, debug.Stack())
			}
		}()
		o.code, o.out, o.errs = call(args...)
	}()
	var files strings.Builder
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		c, err := os.ReadFile(path)
		fmt.Fprintf(&files, "%s\n%s\n", strings.TrimPrefix(path, out), c)
		return err
	})
	list, e := os.ReadDir(out)
	err = errors.Join(err, e)
	for _, x := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(out, x.Name())))
	}
	if err != nil {
		o.panic = err.Error()
	}
	o.files = files.String()
	return o
}

// firstDifference shows where two outcomes part.
func firstDifference(a, b outcomeOf) string {
	for _, p := range [][3]string{{"output", a.out, b.out}, {"errors", a.errs, b.errs}, {"files", a.files, b.files}} {
		x, y := strings.Split(p[1], "\n"), strings.Split(p[2], "\n")
		for i := range x {
			if i >= len(y) || x[i] != y[i] {
				other := "(nothing)"
				if i < len(y) {
					other = y[i]
				}
				return fmt.Sprintf("%s: %.300q\n     is %.300q", p[0], x[i], other)
			}
		}
		if len(y) > len(x) {
			return fmt.Sprintf("%s: more: %.300q", p[0], y[len(x)])
		}
	}
	return "exit codes alone"
}

// judge says what is wrong with the outcome of a command about the damaged file; forged means that checksums fit.
func (b *damageBed) judge(line string, want, got outcomeOf, forged bool) string {
	printed := got.out != "" || got.files != ""
	named := strings.Contains(got.errs, ".xtf") && strings.Contains(got.errs, "coppice: ")
	switch {
	case got.panic != "":
		return "panic: " + got.panic
	case got.code == jobs.ExitInternal || strings.Contains(got.errs, "bug of coppice"):
		return "internal error: " + got.errs
	case forged:
		return ""
	case got == want:
		return ""
	case got.code == jobs.ExitPartial && named:
		return ""
	case got.code == jobs.ExitInput && named && !printed:
		return "" // it refused
	case strings.HasPrefix(line, "check ") && (got.code == jobs.ExitFound || got.code == jobs.ExitInput && named):
		return "" // damage is what it is to find, and it tells what is sound
	}
	return fmt.Sprintf("exit code %d, of the sound file %d, and: %s\n%s", got.code, want.code, firstDifference(want, got), got.errs)
}

// try calls all commands with the damaged file.
func (b *damageBed) try(t *testing.T, what string, forged bool) {
	t.Helper()
	b.files++
	for k, line := range b.lines {
		got := b.call(line)
		b.commands++
		if got.code != b.want[k].code {
			b.partial++
		}
		if text := b.judge(line, b.want[k], got, forged); text != "" {
			if b.wrong++; b.wrong > 20 {
				t.Fail() // they are counted
			} else {
				t.Errorf("%s: %s: %s", what, line, text)
			}
		}
	}
}

func (b *damageBed) log(t *testing.T) {
	t.Helper()
	t.Logf("%d files of %d bytes, %d commands, %d of them with another exit status, %d wrong", b.files, len(b.sound), b.commands, b.partial, b.wrong)
}

// TestDamage turns bits of analysed runs, and calls every verb in every format with them: what it prints is what it prints of the
// sound file, or the exit status says that something is missing, and standard error names it. Bits of one part with a checksum are one
// damage to all readers, so of those of which check says the same the first is tried; TestEveryBitFlip of package xtf turns the others.
// With -damaged N files are cut, overwritten, torn and forged, too, and all are tried.
//
//	go test ./cmd/coppice -run 'TestDamage$' -timeout 0 -damaged 20000 -damage-seed 7
func TestDamage(t *testing.T) {
	t.Parallel()
	for i, x := range damageInputs {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := newDamageBed(t, i)
			flips := 200
			switch {
			case underRace:
				flips = 1
			case testing.Short():
				flips = 4
			}
			if *damaged > 0 {
				flips = (*damaged + len(damageInputs) - 1) / len(damageInputs)
			}
			r := rand.New(rand.NewPCG(*damageSeed, uint64(i)))
			tried := map[outcomeOf]bool{}
			for n := 0; n < flips; n++ {
				change, forged := tracetest.FlipBit, false
				if *damaged > 0 {
					switch n % 8 {
					case 0, 1, 2, 3:
						change = tracetest.Damage
					case 4:
						change, forged = tracetest.Forge, true
					}
				}
				c, what := change(r, b.sound)
				if err := os.WriteFile(b.run(), c, 0o666); err != nil {
					t.Fatal(err)
				}
				if *damaged == 0 {
					found := b.call("check RUN --format json")
					if tried[found] {
						continue
					}
					tried[found] = true
				}
				b.try(t, what, forged)
			}
			b.log(t)
		})
	}
}

// TestDamageIsNoBug changes bytes of rows, graphs and sections under sound checksums, as a writer with an error would: every
// verb that reads a run calls it what it is, an input that cannot be read or is damaged, and never a bug of coppice.
func TestDamageIsNoBug(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	b := newDamageBed(t, 0)
	sound := filepath.Join(b.dir, "same.xtf")
	sameRow := func(xtf.Proc, xtf.TypeID, uint64, []byte) {}
	kinds := map[uint32]int{}
	alterAll(t, sound, b.run(), sameRow, func(_ xtf.Proc, kind uint32, c []byte) []byte {
		kinds[kind]++
		return c
	})
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	r := rand.New(rand.NewPCG(*damageSeed, 4))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for range rounds {
			at, which, flip := r.Uint32(), r.IntN(kinds[kind]), byte(1)<<r.IntN(8)
			alterAll(t, sound, b.run(), sameRow, func(_ xtf.Proc, k uint32, c []byte) []byte {
				if k == kind {
					if which == 0 && len(c) > 0 {
						c[int(uint64(at)%uint64(len(c)))] ^= flip
					}
					which--
				}
				return c
			})
			b.try(t, fmt.Sprintf("part of kind %d, %d", kind, at), true)
		}
	}
	for _, id := range []xtf.TypeID{xtf.TypeCall, xtf.TypeP2P, xtf.TypeColl, xtf.TypeComp, xtf.TypeInterval, xtf.TypeTimeBin, xtf.TypeStat, xtf.TypeWait, xtf.TypeTile} {
		for range rounds {
			row, at, flip := r.Uint64N(5), r.Uint32(), byte(1)<<r.IntN(8)
			alter(t, sound, b.run(), func(_ xtf.Proc, k xtf.TypeID, n uint64, c []byte) {
				if k == id && n == row {
					c[8+int(uint64(at)%uint64(len(c)-8))] ^= flip // after the key: rows stay in order
				}
			})
			b.try(t, fmt.Sprintf("row %d of type %d, %d", row, id, at), true)
		}
	}
	alter(t, sound, b.run(), func(p xtf.Proc, k xtf.TypeID, _ uint64, c []byte) {
		var x xtf.Comp
		if p == 1 && k == xtf.TypeComp {
			if x.Load(c); x.Key == xtf.NodeKey(0, uint32(xtf.ItemFirst)) {
				x.Value ^= 1
				x.Put(c)
			}
		}
	})
	b.try(t, "the clock of location 1", true)
	if got := b.call("query RUN interval --time 20%..70%"); got.code != jobs.ExitPartial || !strings.Contains(got.errs, "leaves 1 location out") {
		t.Errorf("the clock of location 1: exit code %d: %s", got.code, got.errs)
	}
	b.log(t)
	if b.files < 14*rounds {
		t.Errorf("%d changes tried", b.files)
	}
}

// TestDamagedRow damages one location: the page of the report keeps its row in the timeline and its column in the profile of ranks,
// under their own labels, and marks both.
func TestDamagedRow(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=3,events=2k,seed=1")
	path := filepath.Join(dir, "run.xtf")
	want := must(t, "report", path, "--format", "html")
	f, err := callview.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := f.Blobs(1)
	head, err2 := f.Dir(1)
	f.Close()
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	labels := regexp.MustCompile(`<text [^>]*>(\d+|×)</text>`)
	figure := func(page, id string) (places, marks []string) {
		_, page, _ = strings.Cut(page, `<section id="`+id+`"`)
		page, _, _ = strings.Cut(page, "</svg>")
		for _, m := range labels.FindAllStringSubmatch(page, -1) {
			if m[1] == "×" {
				marks = append(marks, m[0])
			} else {
				places = append(places, m[0])
			}
		}
		return places, marks
	}
	for _, x := range []struct {
		name  string
		at    uint64
		marks map[string]int // by figure
	}{
		{"call graph", uint64(blobs[0].Offset) + 9, map[string]int{"timeline": 1, "ranks": 0}},
		{"head", head.HeadOff + 70, map[string]int{"timeline": 1, "ranks": 1}},
	} {
		b := slices.Clone(sound)
		b[x.at] ^= 1
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		code, page, errs := call("report", path, "--format", "html")
		if code != jobs.ExitPartial || !strings.Contains(errs, "leaves 1 location out") || !strings.Contains(page, "<td class=\"l \">location 1 (process 1, thread 0)</td>") {
			t.Errorf("%s: exit code %d: %s", x.name, code, errs)
		}
		for id, n := range x.marks {
			places, marks := figure(page, id)
			all, _ := figure(want, id)
			if len(all) < 3 || !slices.Equal(places, all) || len(marks) != n {
				t.Errorf("%s: %s has labels %q and marks %q, want %q and %d marks", x.name, id, places, marks, all, n)
			}
		}
	}
}

// TestFindingsOfDamage: the events of process 1 end in a barrier, because its file is cut. That is no hang, where the other processes are complete, and its times
// do not compare with theirs. Or sends of process 0 are overwritten with zeros: receives pair with later ones then, which says nothing of clocks.
func TestFindingsOfDamage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("-- program --\nprocesses 3\nresolution 1000000\n-- events --\n")
	for p := range 3 {
		fmt.Fprintf(&text, "%d 0 ENTER main\n", p)
		for i := range 3000 {
			at := 100 * (i + 1)
			switch p {
			case 0:
				fmt.Fprintf(&text, "0 %[1]d ENTER MPI_Send\n0 %[1]d MPI_SEND 1 MPI_COMM_WORLD 7 8\n0 %[2]d LEAVE MPI_Send\n", at, at+10)
			case 1:
				fmt.Fprintf(&text, "1 %[1]d ENTER MPI_Recv\n1 %[2]d MPI_RECV 0 MPI_COMM_WORLD 7 8\n1 %[2]d LEAVE MPI_Recv\n", at-20, at+12)
			}
		}
		text.WriteString(meeting(p, 320_000, 321_000) + fmt.Sprintf("%d 400000 LEAVE main\n", p))
	}
	src, err := tracetest.Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		file         string
		damage       func(b []byte) []byte
		code, untold string
	}{
		"cut":  {"1.evt", func(b []byte) []byte { return b[:len(b)-30] }, "truncated", "no functions but MPI"},
		"hole": {"0.evt", func(b []byte) []byte { clear(b[1<<15 : 2<<15]); return b }, "corrupt", "which messages and collectives belong together after events that were left out as damaged"},
	} {
		dir := t.TempDir()
		if _, err := otf2.Copy(dir, "traces", src, otf2.Options{EventChunk: 1 << 15}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "traces", x.file)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, x.damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(dir, "run.xtf")
		if code, _, errs := call("analyze", dir, "-o", run, "-q"); code != 4 {
			t.Fatalf("%s: exit code %d: %s", name, code, errs)
		}
		if out := must(t, "report", run); !strings.Contains(out, x.code) || !strings.Contains(out, x.untold) {
			t.Errorf("%s: no %q or %q in\n%s", name, x.code, x.untold, out)
		}
		machine := filepath.Join(dir, "machine.toml")
		if err := os.WriteFile(machine, []byte("schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"levers", run}, {"report", "scaling", run, foundTrace(t, program(2, ""))}, {"predict", run, "--platform", machine}} {
			if _, out, errs := call(args...); !strings.Contains(out, "the input of") || !strings.Contains(out, "was damaged or incomplete") {
				t.Errorf("%s: %s does not say that the input was damaged:\n%s%s", name, args, out, errs)
			}
		}
		for _, f := range jsonOf[foundIn](t, "report", run).Findings {
			if f.Kind == "hang" || f.Kind == "clock" || name == "cut" && f.Kind == "imbalance" {
				t.Errorf("%s: %s", name, f.Text)
			}
		}
	}
}

// TestDamageOfTheWhole: what is wrong with a file of all locations is of no location, nor of the definitions.
func TestDamageOfTheWhole(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "a.prv")
	if err := os.WriteFile(trace, []byte("#Paraver (01/02/2024 at 10:00):100_ns:1(1):1:1(1:1)\n2:1:1:1:1:10:50000001:1\n2:1:1:1:1:20:5000"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "event data cut before the end mark: 1 in the trace as a whole"
	run := trace + ".xtf"
	if code, _, errs := call("analyze", trace, "-o", run); code != 4 || !strings.Contains(errs, want) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if out := must(t, "report", run, "diagnostics"); !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// TestCutBetweenLines cuts a Paraver trace after each of its lines: neither is a call hung that returns after the cut, nor does a process have less to do
// that ends there earlier.
func TestCutBetweenLines(t *testing.T) {
	t.Parallel()
	const whole = `#Paraver (01/02/2024 at 10:00):5000_ns:1(2):1:2(1:1,1:1)
2:1:1:1:1:10:50000003:31
2:2:1:2:1:10:50000003:31
2:1:1:1:1:100:50000003:0
2:2:1:2:1:100:50000003:0
2:1:1:1:1:1000:50000002:8
2:2:1:2:1:2000:50000002:8
2:1:1:1:1:2010:50000002:0
2:2:1:2:1:2010:50000002:0
2:2:1:2:1:3000:50000002:8
2:1:1:1:1:4000:50000002:8
2:1:1:1:1:4010:50000002:0
2:2:1:2:1:4010:50000002:0
2:1:1:1:1:4100:50000003:32
2:2:1:2:1:4100:50000003:32
2:1:1:1:1:5000:50000003:0
2:2:1:2:1:5000:50000003:0
`
	lines := strings.SplitAfter(whole, "\n")
	for n := 5; n < len(lines); n++ {
		text, want := strings.Join(lines[:n], ""), 4
		if strings.Contains(text, ":50000003:32") {
			want = 0
		}
		file := filepath.Join(t.TempDir(), "a.prv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := call("analyze", file, "-o", file+".xtf"); code != want {
			t.Errorf("%d lines: exit code %d, want %d: %s", n, code, want, errs)
		}
		for _, f := range jsonOf[foundIn](t, "report", file+".xtf").Findings {
			if f.Kind == "hang" || f.Kind == "imbalance" {
				t.Errorf("%d lines: %s", n, f.Text)
			}
		}
	}
}

// TestFewerEvents: a file that ends well has fewer events than the definitions announce. Nobody knows which is wrong, so it is a warning, and check finds a problem.
func TestFewerEvents(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(program(2, "1 100 ENTER f\n1 200 LEAVE f\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "traces", "0.evt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "traces", "1.evt"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call("check", dir); code != 1 || !strings.Contains(out, "event-count") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	run := filepath.Join(dir, "run.xtf")
	must(t, "analyze", dir, "-o", run, "-q")
	const want = "event count differs from the definitions: 2 in 1 location, worst 2\n"
	if out := must(t, "report", run, "summary"); !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}
