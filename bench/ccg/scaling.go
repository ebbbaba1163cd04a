package main

import (
	"fmt"
	"io"
)

// scaling prints how the structure of the stencil grows with its processes and
// with its iterations: with the roles of the grid, and not at all.
func scaling(w io.Writer, _ config) error {
	t := newTable("processes", "iterations", "deviation", "events", "nodes", "tuples", "class rows", "distinct roots", "shared bytes", "B/event")
	type shape struct{ procs, iterations int }
	for _, s := range []shape{{16, 200}, {64, 200}, {256, 200}, {16, 10}, {16, 100}, {16, 1000}, {16, 10_000}} {
		spec := fmt.Sprintf("stencil:jitter=2,seed=1,procs=%d,iterations=%d", s.procs, s.iterations)
		src, err := generated("stencil", spec, 0).open()
		if err != nil {
			return err
		}
		for _, d := range []string{lossless, moderate} {
			f, err := measureAt(src, d)
			if err != nil {
				return err
			}
			t.row(s.procs, s.iterations, d, f.Events, f.Nodes, f.Tuples, f.Rows, f.roots, f.SharedBytes, f.bytesPerEvent())
		}
		src.Close()
	}
	fmt.Fprintf(w, "## Scaling of the stencil, jitter 2 %%\n\n")
	t.print(w)
	return nil
}
