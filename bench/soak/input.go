package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// An input is a trace.
type input struct {
	path    string // what analyze gets
	folder  string // all its files
	kind    string
	mutated bool // its bytes were changed: anything may be wrong with it
	sound   bool // made by ourselves without a fault: its analysis ends with 0
	large   bool // too large for all that prints every row
	procs   int  // about how many processes it has
}

// makeInput makes or copies a trace, and damages some.
func (r *round) makeInput() (*input, error) {
	x := r.random("input")
	in := &input{folder: r.path("in"), procs: 4}
	in.path = in.folder
	var err error
	switch n := x.IntN(20); {
	case r.large > 0 && n == 0 && x.IntN(2) == 0:
		err = r.makeLarge(x, in)
	case n < 2 && r.mutants == 0:
		err = r.makeRecorded(x, in)
	case n < 8:
		err = r.makeProgram(x, in)
	case n < 11:
		err = makeScript(x, in)
	case n < 14:
		err = makeParaver(x, in)
	default:
		err = r.makeCopy(x, in)
	}
	if err == nil && x.IntN(5) < 2 && r.mutants == 0 {
		in.mutated, in.sound = true, false
		in.kind += "-damaged"
		r.taken["mutated inputs"]++
		for _, what := range mutate(x, in.folder) {
			fmt.Fprintf(&r.log, "damage: %s\n", what)
		}
	}
	return in, err
}

// programs are the generators of the demo.
var programs = []string{"stencil", "ring", "wavefront", "masterworker", "irregular"}

// makeProgram lets the demo write the trace of a generated program.
func (r *round) makeProgram(x *rand.Rand, in *input) error {
	in.procs = 1 + x.IntN(9)
	if r.mutants > 0 {
		in.procs = 1 + in.procs/4
	}
	spec := fmt.Sprintf("%s:procs=%d,events=%d,seed=%d", programs[x.IntN(len(programs))], in.procs, logUniform(x, r.events), x.Uint64N(1000))
	maybe := func(name string, n uint64) {
		if x.IntN(3) == 0 {
			spec += fmt.Sprintf(",%s=%d", name, n)
		}
	}
	maybe("threads", 1+x.Uint64N(4))
	maybe("depth", 1+x.Uint64N(12))
	maybe("work", 1+logUniform(x, 1e8))
	maybe("jitter", x.Uint64N(200))
	maybe("imbalance", x.Uint64N(400))
	maybe("bytes", logUniform(x, 1<<30))
	maybe("every", 1+x.Uint64N(20))
	maybe("chunk", 16+logUniform(x, 1<<16))
	in.sound = true
	if x.IntN(4) == 0 { // clocks
		spec += fmt.Sprintf(",offset=%d,drift=%d", logUniform(x, 1e9), logUniform(x, 1e6))
		if x.IntN(2) == 0 {
			spec += fmt.Sprintf(",skew=%d", logUniform(x, 1e7))
			in.sound = false
		}
	}
	for _, flag := range []string{"metrics", "parameters", "io"} {
		if x.IntN(3) == 0 {
			spec += "," + flag
		}
	}
	if x.IntN(4) == 0 {
		d := synthetic.Defects(x.Uint32N(1<<14)) &^ synthetic.Backwards // which no writer takes
		if in.procs < 2 {
			d &^= synthetic.UnmatchedSend | synthetic.UnmatchedRecv | synthetic.BytesDiffer | synthetic.ShortCollective | synthetic.MixedCollective
		}
		if d != 0 {
			spec += ",broken=" + d.String()
			in.sound = false
		}
	}
	in.kind = "program"
	r.expect(r.coppice("demo", "-o", in.folder, "--spec", spec), 0)
	return nil
}

// makeLarge lets the demo write one with 10^6 events to the largest number.
func (r *round) makeLarge(x *rand.Rand, in *input) error {
	in.kind, in.large, in.sound, in.procs = "large", true, true, 1<<x.IntN(8)
	r.in = in
	events := max(r.large, 1e6)
	events = 1e6 * math.Pow(events/1e6, x.Float64())
	spec := fmt.Sprintf("%s:procs=%d,events=%.0f,seed=%d", programs[x.IntN(len(programs))], in.procs, events, x.Uint64N(1000))
	r.expect(r.coppice("demo", "-o", in.folder, "--spec", spec), 0)
	n, err := size(in.folder)
	r.taken["MB of large inputs"] += int(n / 1e6)
	return err
}

// makeScript writes a small program of everything that scripts can do, or one with planted waits, with unusual options of the writer.
func makeScript(x *rand.Rand, in *input) error {
	in.kind = "script"
	script := tracetest.RandomScript(x.Uint64N(1 << 32))
	if x.IntN(2) == 0 {
		in.kind = "planted"
		plants := tracetest.Planted(x.Uint64N(1 << 32))
		script = plants[x.IntN(len(plants))].Script
	}
	src, err := script.Source()
	if err != nil {
		return err
	}
	in.procs = len(script.Steps)
	o := otf2.Options{BigEndian: x.IntN(3) == 0, TraceFormat: 1 + x.IntN(2)}
	if x.IntN(3) == 0 {
		o.EventChunk = 256 << x.IntN(8)
	}
	o.Local = func(p trace.P) *otf2.Local { return nil }
	_, err = otf2.Copy(in.folder, "traces", src, o)
	return err
}

// makeCopy copies a collected trace.
func (r *round) makeCopy(x *rand.Rand, in *input) error {
	if len(r.traces) == 0 {
		return r.makeProgram(x, in)
	}
	from := r.traces[x.IntN(len(r.traces))]
	in.kind = "collected"
	if prefix, ok := strings.CutSuffix(from, ".prv.gz"); ok {
		in.kind = "collected-paraver"
		if err := os.Mkdir(in.folder, 0o777); err != nil {
			return err
		}
		in.path = filepath.Join(in.folder, filepath.Base(from))
		for _, suffix := range []string{".prv.gz", ".pcf", ".row"} {
			b, err := os.ReadFile(prefix + suffix)
			if err == nil {
				err = os.WriteFile(filepath.Join(in.folder, filepath.Base(prefix)+suffix), b, 0o666)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := exec.Command("cp", "-r", from, in.folder).Run(); err != nil {
		return err
	}
	if err := exec.Command("chmod", "-R", "u+w", in.folder).Run(); err != nil {
		return err
	}
	anchors, err := filepath.Glob(filepath.Join(in.folder, "*.otf2"))
	if len(anchors) > 1 {
		in.path = anchors[x.IntN(len(anchors))]
	}
	return err
}

// logUniform is a number from 0 to most, small ones as often as large ones.
func logUniform(x *rand.Rand, most uint64) uint64 {
	bits := 0
	for most>>bits > 0 {
		bits++
	}
	return min(most, x.Uint64()>>(64-x.IntN(bits+1)))
}
