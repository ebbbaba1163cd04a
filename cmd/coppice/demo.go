package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/spf13/cobra"
)

// demoSpec is the program that demo runs. Its work is uneven, so that there is something to find.
const demoSpec = "stencil:procs=8,events=1M,jitter=10,imbalance=30,seed=1"

// archiveName is the name of the archive that demo writes.
const archiveName = "traces"

func demoVerb(s streams) *cobra.Command {
	var dir, spec string
	var force bool
	c := verb("demo", "write the trace of a generated program", 0, 0,
		"coppice demo",
		"coppice demo -o /tmp/wave --spec wavefront:procs=16,events=200k",
		"coppice demo --spec stencil:procs=64,events=20M,jitter=5 -f")
	f := c.Flags()
	f.StringVarP(&dir, "output", "o", "coppice-demo", "folder of the archive; the anchor is traces.otf2 in it")
	f.StringVar(&spec, "spec", demoSpec, "program: stencil, ring, wavefront, masterworker or irregular, then :KEY=VALUE,... (procs, threads, events, iterations, work, jitter, imbalance, bytes, seed, offset, drift, ...)")
	f.BoolVarP(&force, "force", "f", false, "replace an archive of an earlier run")
	return s.does(c, func(_ []string, s streams) error {
		o, err := synthetic.ParseOptions(spec)
		if err != nil {
			return usage("--spec %s: %w", spec, err)
		}
		src, err := synthetic.New(o)
		if err != nil {
			return usage("--spec %s: %w", spec, err)
		}
		if force {
			err = removeArchive(dir)
		}
		if err == nil {
			err = writeArchive(dir, src)
		}
		if err != nil {
			return outputError(err)
		}
		printDemo(s.out, dir, src)
		return nil
	})
}

// removeArchive removes the archive of an earlier run, the anchor first, so that the rest of an interrupted removal is not an
// archive.
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

// writeArchive writes the archive, with the offsets of the program's clocks.
func writeArchive(dir string, src *synthetic.Source) error {
	o := otf2.Options{Creator: "coppice demo", Description: src.Options().String()}
	o.Local = func(p trace.P) *otf2.Local {
		l := &otf2.Local{}
		for _, c := range src.Clock(p) {
			l.Offsets = append(l.Offsets, otf2.ClockOffset{Time: uint64(c.Time), Offset: c.Offset})
		}
		return l
	}
	_, err := otf2.Copy(dir, archiveName, src, o)
	return err
}

func printDemo(w io.Writer, dir string, src *synthetic.Source) {
	d := src.Definitions()
	anchor, run := filepath.Join(dir, archiveName+".otf2"), filepath.Join(dir, "run.xtf")
	fmt.Fprintf(w, "%s: %d events of %d locations, the trace of a generated program (%s)\n\nTry\n\n", anchor, src.Events(), d.NumLocations(), src.Options().Program)
	list := [][2]string{
		{"coppice info " + anchor, "what is in the trace"},
		{"coppice analyze " + anchor + " -o " + run, "the main job, on all cores"},
		{"coppice report " + run, "how well the program used its time"},
		{"coppice report " + run + " profile comm", "where the time went, who sent to whom"},
		{"coppice levers " + run, "what changes would be worth"},
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
