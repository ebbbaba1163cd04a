package main

import (
	"fmt"
	"io"
	"strings"
)

// quantity is a column of the tables.
type quantity struct {
	name string
	of   func(*counts) int64
}

// traffic and memory are what runs count and measure: messages, those in collective calls too; of them those between two ranks;
// loose ones, which the others are without; collective calls; bytes of all; bytes of the file.
var (
	traffic = []quantity{
		{"messages", func(c *counts) int64 { return c.messages() - c.Loose }},
		{"between two", func(c *counts) int64 { return c.Sends + c.Receives - c.Loose }},
		{"loose", func(c *counts) int64 { return c.Loose }},
		{"rounds", func(c *counts) int64 { return c.Rounds }},
		{"bytes", func(c *counts) int64 { return c.Bytes }},
		{"written", func(c *counts) int64 { return c.Written }},
	}
	memory = []quantity{{"live heap", func(c *counts) int64 { return c.Live }}}
)

func everyStage(string) bool { return true }

// scaling runs the job on growing numbers of ranks and prints what they count.
func scaling(w io.Writer, s *settings) error {
	quantities := traffic
	if s.heap {
		quantities = memory
	}
	if s.heap && !s.mpi { // what the packages below keep for the process is not a rank's
		if _, err := s.measure(1); err != nil {
			return err
		}
	}
	results := make([][]spread, len(quantities))
	fmt.Fprintf(w, "%-6s %-12s %12s %12s %12s %10s %12s\n", "ranks", "quantity", "median", "max", "rank 0", "max/median", "rank 0/median")
	for _, n := range s.ranks {
		f, err := s.measure(n)
		if err != nil {
			return err
		}
		for i, q := range quantities {
			x := spreadOf(f.totals(everyStage), q.of)
			results[i] = append(results[i], x)
			fmt.Fprintf(w, "%-6d %-12s %12d %12d %12d %10s %12s\n", n, q.name, x.median, x.max, x.first, ratio(x.max, x.median), ratio(x.first, x.median))
		}
		if s.stages && n == s.ranks[len(s.ranks)-1] {
			stageTable(w, f, quantities)
		}
	}
	laws(w, s.ranks, quantities, results)
	return nil
}

func ratio(a, b int64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

func laws(w io.Writer, ranks []int, quantities []quantity, results [][]spread) {
	fmt.Fprintf(w, "\n%-12s %-34s %-34s\n", "quantity", "median rank", "rank 0")
	for i, q := range quantities {
		var median, first []float64
		for _, x := range results[i] {
			median, first = append(median, float64(x.median)), append(first, float64(x.first))
		}
		fmt.Fprintf(w, "%-12s %-34s %-34s\n", q.name, fit(ranks, median), fit(ranks, first))
	}
}

// stageTable prints what each stage counts: median, most, rank 0.
func stageTable(w io.Writer, f figures, quantities []quantity) {
	for i := range f[0] {
		name := f[0][i].Stage
		list := f.totals(func(s string) bool { return s == name })
		var line strings.Builder
		for _, q := range quantities {
			x := spreadOf(list, q.of)
			fmt.Fprintf(&line, "  %s %d/%d/%d", q.name, x.median, x.max, x.first)
		}
		fmt.Fprintf(w, "  %-8s%s\n", name, line.String())
	}
}
