package main

import (
	"fmt"
	"io"
	"os/exec"
)

// given are the totals of the same estimate as they were stated when the target
// was set, in bytes per event.
var given = map[string]float64{
	"npb-lu.S-16": 0.96, "npb-cg.S-16": 1.28, "lammps-melt-16": 1.53, "sweep3d-16": 1.63, "lulesh-s4-27": 1.43, "npb-lu.S-func-4": 0.56,
}

// bound is the target: so many times the estimate.
const bound = 1.3

// archives compares the lossless graphs of real programs with an estimate of
// what is possible at all without queries.
func archives(w io.Writer, c config) error {
	list, err := found(w, c)
	if err != nil {
		return err
	}
	_, err = exec.LookPath("xz")
	ok := err == nil
	if !ok {
		fmt.Fprintf(w, "No program xz: the estimate is shown only where it was given.\n\n")
	}
	t := newTable("archive", "events", "CCG", "shared", "per location", "estimate", "its gaps", "its structure", "given", "ratio")
	for _, p := range list {
		src, err := p.open()
		if err != nil {
			return err
		}
		f, err := measureAt(src, lossless)
		if err != nil {
			return err
		}
		n := float64(f.Events)
		row := []any{p.name, f.Events, f.bytesPerEvent(), float64(f.SharedBytes) / n, float64(f.ColumnBytes) / n, "-", "-", "-", "-", "-"}
		total := given[p.name]
		if total > 0 {
			row[8] = total
		}
		if ok {
			e, err := estimated(src)
			if err != nil {
				return err
			}
			row[5], row[6], row[7] = float64(e.gaps+e.structure)/n, float64(e.gaps)/n, float64(e.structure)/n
			if total == 0 {
				total = float64(e.gaps+e.structure) / n
			}
		}
		src.Close()
		if total > 0 {
			row[9] = f.bytesPerEvent() / total
		}
		t.row(row...)
	}
	fmt.Fprintf(w, "## Real archives, lossless, bytes per event\n\nThe ratio is to the estimate as given, else as computed here; the target is %v.\n\n", bound)
	t.print(w)
	return nil
}
