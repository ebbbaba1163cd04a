package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// moreLines are command lines as those of damageCommands in cmd/coppice, of the verbs that those leave out. A verb that refuses a kind of
// input gets it too.
var moreLines = []string{
	"levers RUN --targets 2 -q", "levers RUN --targets 3 -q --format json", "levers RUN --targets 1 -q -o OUT.csv",
	"serve RUN --listen 127.0.0.1:0", "serve RUN OTHER --listen 127.0.0.1:0", "serve RUN --listen 127.0.0.1:0 --mem 64M",
	"analyze RUN -o OUT -q", "analyze RUN -o OUT -q -j 2", "analyze RUN -o OUT -q --events none", "analyze RUN -o OUT -q --clock-repair", "analyze RUN -o OUT -q --classes 5%",
	"analyze RUN -o OUT -q --slice-count 3", "analyze RUN -o OUT -q --interval region:*", "analyze RUN -o OUT -q --deviation 10%,1us", "analyze RUN -o OUT -q --strict",
	"analyze RUN -o OUT -q --markers f1,f2,f3,f4,f5,f6,f7 -j 3", "analyze RUN -o OUT -q --between coll:* --pages raw --fold-recursion",
	"plan analyze RUN", "plan analyze RUN --format json", "plan analyze RUN --format script",
	"platform show RUN", "platform show RUN --format json",
	"capacity solve RUN --samples 5", "capacity sweep RUN --vary jobs=1..3", "capacity check RUN", "capacity plan RUN --max-response 1000 --vary jobs=1,2 --no-sim",
	"capacity extract RUN -o OUT", "info RUN -j 2", "check RUN -j 2", "check RUN --format json",
}

// bed is where mutants of one round's input and result are tried.
type bed struct {
	*round
	x       *rand.Rand
	verbs   [][]string         // the command lines of each verb
	machine string             // a platform
	sound   map[string]results // of the sound result, by command line
}

// results are all that a command leaves.
type results struct {
	code       int
	out, files string
}

// linesByVerb sorts command lines into those of each verb, with its part where that is another kind of question.
func linesByVerb(lines []string) [][]string {
	verbs := map[string][]string{}
	for _, line := range lines {
		w := strings.Fields(line)
		name := w[0]
		if w[1] != "RUN" && w[1] != "OTHER" {
			name += " " + w[1]
		}
		if !slices.Contains(verbs[name], line) {
			verbs[name] = append(verbs[name], line)
		}
	}
	var list [][]string
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		list = append(list, verbs[name])
	}
	return list
}

// stepMutants damages the result, in three of eight cases so that no checksum tells, its trace, or a receive log, and gives each mutant to all
// verbs, to each in one of its ways, in turn. Answers about a result that was not forged are those of the sound one, or the status says otherwise.
func stepMutants(r *round, x *rand.Rand) {
	const small = 24 << 10 // a command takes about a millisecond
	if len(r.whole) > small {
		r.taken["inputs that are too large"]++
		return
	}
	r.in.sound = false
	a, err := r.pipe.ask(pipeCommand{})
	if err != nil || len(a.Lines) == 0 {
		r.fail("no command lines: %v", err)
		return
	}
	b := &bed{round: r, x: x, verbs: linesByVerb(append(a.Lines, moreLines...)), sound: map[string]results{}}
	for b.machine == "" || r.coppice("platform", "show", b.machine).code != 0 {
		b.machine = r.platformFile(x)
	}
	other := r.path("other")
	r.expect(r.coppice("demo", "-o", other, "--spec", "stencil:procs=2,events=300,seed=5"), 0)
	r.expect(r.coppice("analyze", other, "-o", r.path("other.xtf"), "-q"), 0)
	if err := os.Mkdir(r.path("out"), 0o777); err != nil {
		r.fail("%v", err)
		return
	}
	for i := range r.mutants {
		b.try(i)
	}
}

// try makes a mutant and gives it to all verbs.
func (b *bed) try(i int) {
	kind, at, wrong := "mutated results", b.log.Len(), len(b.wrong)
	path, what := b.path("damaged.xtf"), ""
	var from []byte
	same := true
	switch {
	case i%8 < 7 && b.whole != nil:
		change := tracetest.Damage
		if i%2 == 1 {
			change, kind, same = tracetest.Forge, "forged results", false
		}
		var c []byte
		if c, what = change(b.x, b.whole); bytes.Equal(c, b.whole) {
			return
		}
		from = c
	case i%32 == 31:
		kind, path, same = "mutated receive logs", b.path("damaged.log"), false
		log, err := os.ReadFile(b.receiveLog)
		if err != nil {
			b.fail("%v", err)
			return
		}
		from, what = tracetest.Damage(b.x, log)
	default:
		kind, same = "mutated traces", false
		folder := b.path("mutant")
		_ = os.RemoveAll(folder)
		if err := os.CopyFS(folder, os.DirFS(b.in.folder)); err != nil {
			b.fail("%v", err)
			return
		}
		what = strings.Join(mutate(b.x, folder), ", ")
		path = folder + strings.TrimPrefix(b.in.path, b.in.folder)
	}
	if from != nil {
		if err := os.WriteFile(path, from, 0o666); err != nil {
			b.fail("%v", err)
			return
		}
	}
	b.taken[kind]++
	fmt.Fprintf(&b.log, "mutant %d: %s: %s\n", i, kind, what)
	turn := int(b.seed)*b.mutants + i
	for _, lines := range b.verbs {
		line := lines[turn%len(lines)]
		if strings.HasPrefix(kind, "mutated receive") && line[:4] == "info" {
			b.replay(path)
		}
		before := len(b.wrong)
		b.call(line, path, same)
		b.taken["lines of "+strings.Fields(line)[0]]++
		if len(b.wrong) > before {
			fmt.Fprintf(&b.log, "WRONG in mutant %d\n", i)
		}
	}
	if len(b.wrong) == wrong {
		b.log.Truncate(at)
		return
	}
	place := b.path(fmt.Sprintf("wrong%d", i)) // kept with the round
	if kind == "mutated traces" {
		_ = os.Rename(b.path("mutant"), place)
	} else {
		_ = os.Rename(path, place)
	}
}

// replay plays a receive log to a program that may ask for something else.
func (b *bed) replay(path string) {
	args := []string{"replay", path, "-o", b.path("out", "replay"), "--", b.programs[0], "--steps", "1"}
	b.expect(b.do(command{args: args, env: []string{"TMPDIR=" + os.TempDir()}}), 0, 1, 2, 3, 4, 5)
	b.clean()
}

// call runs a command line with the input and judges what it leaves.
func (b *bed) call(line, path string, same bool) {
	o, got := b.results(line, path)
	b.expect(o, 0, 1, 2, 3, 4, 5)
	if strings.HasPrefix(line, "analyze RUN") {
		b.afterAnalysis(o, b.path("out", "result"))
		if got.files != "" {
			b.expect(b.coppice("check", b.path("out", "result")), 0)
			b.expect(b.coppice("report", b.path("out", "result"), "--format", "json"), 0)
		}
	}
	b.clean()
	if !same {
		return
	}
	want, is := b.sound[line]
	if !is {
		damaged, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, b.whole, 0o666)
		}
		_, want = b.results(line, path)
		b.clean()
		b.sound[line] = want
		if err == nil {
			err = os.WriteFile(path, damaged, 0o666)
		}
		if err != nil {
			b.fail("%v", err)
		}
	}
	if got != want && o.code != 4 && !(o.code == 3 && got.files == "") && !(strings.HasPrefix(line, "check ") && (o.code == 1 || o.code == 3)) {
		b.fail("%s: exit code %d, of the sound result %d, and other output or files: not a word of what is missing", o, o.code, want.code)
	}
}

// results runs a command line.
func (b *bed) results(line, path string) (outcome, results) {
	args := strings.Fields(strings.NewReplacer("RUN", path, "SAME", b.run, "OTHER", b.path("other.xtf"),
		"MACHINE", b.machine, "OUT", b.path("out", "result")).Replace(line))
	if args[0] != "serve" {
		o := b.coppice(args...)
		return o, results{o.code, o.out, contents(b.path("out"))}
	}
	o := b.piped(command{args: args}, func(announced string) {
		if c := b.client(announced, b.x); c != nil {
			c.talk(4, false)
			c.http.CloseIdleConnections()
		}
	})
	if o.code == 0 {
		o.out = "" // its address is another each time
	}
	return o, results{code: o.code, out: o.out}
}

// clean removes what a command wrote.
func (b *bed) clean() {
	list, _ := filepath.Glob(b.path("out", "*"))
	for _, f := range list {
		_ = os.RemoveAll(f)
	}
}
