package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtfwriter"
	"golang.org/x/sync/errgroup"
)

// demoSpec is the program that demo runs: uneven work, so that there is
// something to find.
const demoSpec = "stencil:procs=8,events=1M,jitter=10,imbalance=30,seed=1"

// archiveName is the name of the archive that demo writes.
const archiveName = "traces"

func runDemo(args []string, s streams) error {
	var dir, spec string
	var force bool
	f := flags("demo", s,
		"coppice demo",
		"coppice demo -o /tmp/wave --spec wavefront:procs=16,events=200k",
		"coppice demo --spec stencil:procs=64,events=20M,jitter=5 -f")
	f.StringVarP(&dir, "output", "o", "coppice-demo", "folder of the archive; the anchor is traces.otf2 in it")
	f.StringVar(&spec, "spec", demoSpec, "program: stencil, ring, wavefront, masterworker or irregular, then :KEY=VALUE,... (procs, threads, events, iterations, work, jitter, imbalance, bytes, seed, offset, drift, ...)")
	f.BoolVarP(&force, "force", "f", false, "replace an archive of an earlier run")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	o, err := tracetest.ParseOptions(spec)
	if err != nil {
		return usage("demo: --spec %s: %w", spec, err)
	}
	src, err := tracetest.New(o)
	if err != nil {
		return usage("demo: --spec %s: %w", spec, err)
	}
	if force {
		err = removeArchive(dir)
	}
	if err == nil {
		err = writeArchive(dir, src)
	}
	if err != nil {
		return outputError("demo", err)
	}
	printDemo(s.out, dir, src)
	return nil
}

// removeArchive removes what an earlier run wrote, the anchor first, so that
// what is left of an interrupted removal is no archive.
func removeArchive(dir string) error {
	anchor := filepath.Join(dir, archiveName+".otf2")
	files, err := filepath.Glob(filepath.Join(dir, archiveName, "*.[ed][ve][tf]"))
	if err != nil {
		return err
	}
	for _, f := range append([]string{anchor, filepath.Join(dir, archiveName+".def")}, files...) {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeArchive writes all locations, one per core at a time.
func writeArchive(dir string, src *tracetest.Source) error {
	o := otf2.Options{Creator: "coppice demo", Description: src.Options().String()}
	o.Local = func(p trace.P) *otf2.Local {
		l := &otf2.Local{}
		for _, c := range src.Clock(p) {
			l.Offsets = append(l.Offsets, otf2.ClockOffset{Time: uint64(c.Time), Offset: c.Offset, Deviation: c.StdDev})
		}
		return l
	}
	w, err := otf2.Create(dir, archiveName, src.Definitions(), o)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for p := range trace.P(src.Definitions().NumLocations()) {
		g.Go(func() error { return writeLocation(w, src, p) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return w.Close()
}

func writeLocation(w *otf2.Writer, src trace.Source, p trace.P) error {
	l, err := w.Location(p)
	if err != nil {
		return err
	}
	err = eachBatch(src, p, func([]trace.Diagnostic) {}, l.Add)
	if e := l.Close(); err == nil {
		err = e
	}
	return err
}

// eachBatch reads location p to its end. found gets what the source reports,
// add the events.
func eachBatch(src trace.Source, p trace.P, found func([]trace.Diagnostic), add func(*trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	found(st.Diagnostics())
	var b trace.Batch
	var first uint64
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				b.First = first
				first += uint64(len(b.Events))
				err = add(&b)
			}
		}
		found(r.Diagnostics())
		if e := r.Close(); errors.Is(err, io.EOF) {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func printDemo(w io.Writer, dir string, src *tracetest.Source) {
	d := src.Definitions()
	var events uint64
	for _, n := range src.Counts().Events {
		events += n
	}
	anchor, run := filepath.Join(dir, archiveName+".otf2"), filepath.Join(dir, "run.xtf")
	fmt.Fprintf(w, "%s: %d events of %d locations, the trace of a generated program (%s)\n\nTry\n\n", anchor, events, d.NumLocations(), src.Options().Program)
	list := [][2]string{
		{"coppice info " + anchor, "what is in the trace"},
		{"coppice analyze " + anchor + " -o " + run, "the main job, on all cores"},
		{"coppice report " + run, "how well the program used its time"},
		{"coppice report " + run + " profile comm", "where the time went, who sent to whom"},
		{"coppice check " + run, "verify every page"},
	}
	width := 0
	for _, c := range list {
		width = max(width, len(c[0]))
	}
	for _, c := range list {
		fmt.Fprintf(w, "  %-*s  # %s\n", width, c[0], c[1])
	}
}

// outputError gives an error of writing an output its exit code: a place that refuses files is the user's to change, all else
// is up to the file system.
func outputError(verb string, err error) error {
	if errors.Is(err, os.ErrExist) {
		return usage("%s: %w. Choose another name, or -f replaces it", verb, err)
	}
	err = fmt.Errorf("%s: %w", verb, xtfwriter.OutputError("", err))
	if jobs.ExitCode(err) == jobs.ExitInternal {
		return jobs.Fail(jobs.ExitResource, err)
	}
	return err
}
