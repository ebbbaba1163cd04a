package main

import (
	"fmt"
	"io"
	"strings"
)

// lengths runs the programs in two lengths each and prints what more events add to what a rank counts: a row of a Markdown table for
// each number of ranks, of the median rank.
func lengths(w io.Writer, s *settings) error {
	fmt.Fprintln(w, "| program | ranks | events a rank | rounds | messages | bytes | bytes an event more, by stage |\n|---|---|---|---|---|---|---|")
	for _, program := range strings.Fields(s.programs) {
		for _, n := range s.ranks {
			var runs [2]figures
			var events [2]uint64
			for i, steps := range [2]int{s.steps/n + 1, 10 * (s.steps/n + 1)} {
				s.program = fmt.Sprintf("%s,iterations=%d", program, steps)
				src, err := s.source(n)
				if err != nil {
					return err
				}
				events[i] = src.Events() / uint64(n)
				if runs[i], err = s.measure(n); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "| %s | %d | %d, %d |", program, n, events[0], events[1])
			for _, q := range []quantity{
				{of: func(c *counts) int64 { return c.Rounds }}, {of: (*counts).messages}, {of: func(c *counts) int64 { return c.Bytes }},
			} {
				fmt.Fprintf(w, " %d, %d |", spreadOf(runs[0].totals(everyStage), q.of).median, spreadOf(runs[1].totals(everyStage), q.of).median)
			}
			fmt.Fprintf(w, " %s |\n", growth(runs, float64(events[1]-events[0])))
		}
	}
	return nil
}

// growth says how many bytes each event more adds to what the median rank sends and receives, in each stage with at least a twentieth of a
// byte, and in all others together.
func growth(runs [2]figures, events float64) string {
	var list []string
	others := 0.0
	for i := range runs[0][0] {
		stage := runs[0][0][i].Stage
		var bytes [2]int64
		for k, f := range runs {
			bytes[k] = spreadOf(f.totals(func(s string) bool { return s == stage }), func(c *counts) int64 { return c.Bytes }).median
		}
		if more := float64(bytes[1]-bytes[0]) / events; more >= 0.05 {
			list = append(list, fmt.Sprintf("%s %.1f", stage, more))
		} else {
			others += more
		}
	}
	return strings.Join(append(list, fmt.Sprintf("others %.2f", others)), ", ")
}
