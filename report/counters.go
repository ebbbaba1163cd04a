package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// countersChapter shows the sums of the metrics of the trace.
func countersChapter(x *counters.Counted, b *table.Book, c *table.Chapter) {
	if len(x.Counters) == 0 {
		c.Say("no readings of counters: they were not recorded (coppice record --counters)")
	}
	c.Title = fmt.Sprintf("counters: %s", numbers.Plural(len(x.Counters), "metric"))
	c.Table(table.Fill(&table.Table{Title: "Counters", Kind: "counter", Columns: append([]table.Column{
		table.Words("counter", "name"), table.Words("unit", "unit"), table.Words("kind", "values"), table.Ints("readings", "readings"),
	}, counterColumns(b.Unit)...)}, "counter", x.Counters, func(y *counters.Counter) []table.Cell {
		return append([]table.Cell{table.Named(numbers.Clean(y.Name, 48), y.Name), table.Word(numbers.Clean(y.Unit, 16)), table.Word(y.Kind), table.Number(y.Readings)}, counterCells(b.Unit, &y.Total)...)
	}))
	for _, p := range []struct {
		title, kind string
		list        []counters.Part
	}{{"Counters of regions", "region", x.Regions}, {"Counters of call paths", "path", x.Paths}, {"Counters of intervals", "interval", x.Intervals}, {"Counters of processes", "process", x.Processes}} {
		t := &table.Table{Title: p.title, Kind: p.kind, Columns: append([]table.Column{table.Words("counter", "counter"), table.Words(p.kind, "name")}, counterColumns(b.Unit)...)}
		table.Fill(t, p.kind, p.list, func(y *counters.Part) []table.Cell {
			return append([]table.Cell{table.Named(numbers.Clean(y.Counter, 48), y.Counter), table.Named(numbers.Clean(y.Name, 60), y.Name)}, counterCells(b.Unit, &y.Total)...)
		})
		c.Table(t)
	}
	for i := range x.Counters {
		for _, text := range x.Counters[i].Notes() {
			c.Say("%s", text)
		}
	}
}

// energyTable lists the counters of energy and power of the whole run.
func energyTable(list []counters.Counter) *table.Table {
	return table.Fill(&table.Table{Title: "Energy and power", Kind: "energy", Most: deviceRows, Whole: "coppice report RUN.xtf counters", Columns: []table.Column{
		table.Words("energy", "name"), table.Reals("J", "joules"), table.Reals("W", "watts"), table.Reals("J s", "edp"),
	}}, "counter", list, func(y *counters.Counter) []table.Cell {
		return []table.Cell{table.Named(numbers.Clean(y.Name, 60), y.Name), amount(y.Joules), amount(y.Watts), amount(y.EDP)}
	})
}

func counterColumns(u numbers.Units) []table.Column {
	return []table.Column{
		table.Reals("sum", "sum"), table.Reals("per "+u.Name(), "per_second"), table.Ints("calls", "calls"), table.Reals("per call", "per_call"), table.Reals("per cycle", "per_cycle"),
		table.Reals("mean", "mean"), table.Reals("least", "least"), table.Reals("largest", "largest"), table.Reals("J", "joules"), table.Reals("W", "watts"), table.Reals("J s", "edp"), table.Ints(u.Name(), "time"),
	}
}

func counterCells(u numbers.Units, s *counters.Total) []table.Cell {
	cells := []table.Cell{amount(s.Sum), amount(s.Rate), {}, amount(s.PerCall), amount(s.PerCycle), amount(s.Mean), amount(s.Least), amount(s.Largest), amount(s.Joules), amount(s.Watts), amount(s.EDP), table.Time(u, s.Time)}
	if s.Calls > 0 {
		cells[2] = table.Number(s.Calls)
	}
	return cells
}

// amount prints a number of any size: whole numbers with all digits, others with four significant ones.
func amount(r numbers.Ratio) table.Cell {
	if !r.Defined {
		return table.None()
	}
	v := r.Value
	size := math.Abs(v)
	text := strconv.FormatFloat(v, 'g', 4, 64)
	switch {
	case size >= 1e15:
	case v == math.Trunc(v) || size >= 1000:
		text = numbers.Group(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= 1e-4:
		text = strconv.FormatFloat(v, 'f', min(max(3-int(math.Floor(math.Log10(size))), 0), 8), 64)
	}
	return table.Named(text, r.Csv())
}
