package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// rankParts are the parts of a process's time in the profile of ranks, from the
// lower edge up. They do not overlap; idle fills what the longest process took.
var rankParts = [...]struct {
	class   string
	items   []xtf.Item // added up; none: idle
	waits   []xtf.Item // inside of them
	waiting bool       // the part is these waits, else what they leave
}{
	{"k-cpu", []xtf.Item{xtf.ItemCPU}, nil, false},
	{"k-io", []xtf.Item{xtf.ItemIO, xtf.ItemFileIO}, nil, false},
	{"k-p2p", []xtf.Item{xtf.ItemP2P}, results.P2pWaits, false},
	{"w-p2p", []xtf.Item{xtf.ItemP2P}, results.P2pWaits, true},
	{"k-coll", []xtf.Item{xtf.ItemColl}, results.CollWaits, false},
	{"w-coll", []xtf.Item{xtf.ItemColl}, results.CollWaits, true},
	{"k-rma", []xtf.Item{xtf.ItemRMA}, nil, false},
	{"k-mgmt", []xtf.Item{xtf.ItemManagement}, nil, false},
	{"k-marker", []xtf.Item{xtf.ItemMarker}, nil, false},
	{"k-start", results.OtherAsides(xtf.ItemMPI, xtf.ItemIO, xtf.ItemMarker), nil, false},
	{"k-idle", nil, nil, false},
}

const partCPU = 0

// rankPartName is what a part is called; after a colon comes what that is.
func rankPartName(k int) string {
	name := cmp.Or(results.WordsOf(rankParts[k].items), "idle: began late or ended early")
	if rankParts[k].waiting {
		name += ", waiting"
	}
	return name
}

// rankTime is a process's time by part, in ticks.
type rankTime struct {
	rank  uint32
	parts [len(rankParts)]uint64
	lost  bool // it cannot be read
}

// processItemsRankTime splits the time of a process; longest is that of the longest one.
func processItemsRankTime(x *results.ProcessItems, longest uint64) rankTime {
	t := rankTime{rank: x.Rank}
	sum := func(items []xtf.Item) (v uint64) {
		for _, i := range items {
			v += x.At(0, i)
		}
		return v
	}
	for k := range rankParts {
		p := &rankParts[k]
		all := sum(p.items)
		waits := min(sum(p.waits), all)
		switch {
		case p.items == nil:
			t.parts[k] = longest - min(longest, x.At(0, xtf.ItemTime))
		case p.waiting:
			t.parts[k] = waits
		default:
			t.parts[k] = all - waits
		}
	}
	return t
}

// rankColumns is the largest number of columns of the profile; beyond it
// neighbours are merged.
const rankColumns = 1000

// ranks draws the profile of ranks: a column for each process, or the mean of
// neighbours. Its table has the processes that differ most.
func (d *Document) ranks(u numbers.Units) (*table.Figure, error) {
	longest := d.Summary.Ticks.Execution
	if longest == 0 {
		return nil, nil
	}
	list := make([]rankTime, d.Processes)
	for rank := range list {
		list[rank].rank = uint32(rank)
	}
	lost, err := d.run.EachProcess(results.Ranks{}, "ranks", func(x *results.ProcessItems) { list[x.Rank] = processItemsRankTime(x, longest) })
	if err != nil {
		return nil, err
	}
	for i := range lost {
		list[lost[i].Process].lost = true
	}
	f := &table.Figure{Caption: "Where each process spends its time. Ranks from left to right, time upwards; the height is the longest process."}
	if len(lost) > 0 {
		f.Notes = append(f.Notes, numbers.Plural(len(lost), "process")+" cannot be read: the columns are empty and marked with a cross, or make the mean of their neighbours too small.")
	}
	if len(list) == 0 {
		return nil, nil
	}
	size := (len(list) + rankColumns - 1) / rankColumns
	if size > 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("Each column is the mean of %d neighbouring ranks.", size))
	}
	f.Picture, f.Legend = drawRanks(list, size, longest, u)
	f.Table = rankTable(list, u)
	return f, nil
}

// drawRanks draws the columns.
func drawRanks(list []rankTime, size int, longest uint64, u numbers.Units) (template.HTML, []table.LegendKey) {
	const left, top, width, height = 60, 12, 900, 260
	columns := (len(list) + size - 1) / size
	parts, used := make([][]int, len(rankParts)), [len(rankParts)]bool{}
	for k := range parts {
		parts[k] = make([]int, columns)
		for c := range columns {
			group := list[c*size : min((c+1)*size, len(list))]
			sum := uint64(0)
			for i := range group {
				sum += group[i].parts[k]
			}
			parts[k][c] = thousandths(sum, longest, uint64(len(group)))
			used[k] = used[k] || parts[k][c] > 0
		}
	}
	var w table.Drawing
	w.Open(left+width+10, top+height+42, "figure", "Time of each process by part", "Stacked columns, one for each process or group of neighbours: CPU, MPI by class with waits, and idle time. The table below has the numbers.")
	w.Add(`<rect class="paper" x="%d" y="%d" width="%d" height="%d"/>`, left, top, width, height)
	classes := make([]string, len(rankParts))
	var legend []table.LegendKey
	for k, p := range rankParts {
		classes[k] = p.class
		if used[k] {
			legend = append(legend, table.LegendKey{Class: p.class, Text: rankPartName(k)})
		}
	}
	w.Stack(left, top, width, height, parts, classes)
	for _, m := range table.AxisMarks(longest, u) {
		y := top + height - m.At*height/1000
		w.Add(`<path class="tick" d="M%d %dh-5"/>`, left, y)
		w.Label(left-8, y+4, "end", m.Text, 12)
	}
	every := (columns + 15) / 16
	for c := range columns {
		x := left + (2*c+1)*width/(2*columns)
		if c%every == 0 {
			w.Label(x, top+height+17, "middle", fmt.Sprint(list[c*size].rank), 10)
		}
		if slices.ContainsFunc(list[c*size:min((c+1)*size, len(list))], func(t rankTime) bool { return t.lost }) {
			w.Label(x, top+height-4, "middle", "×", 10)
		}
	}
	w.Label(left+width/2, top+height+36, "middle", "rank", 10)
	return w.HTML(), legend
}

// thousandths is sum over n of v, in thousandths of whole, rounded to the nearest.
func thousandths(sum, whole, n uint64) int {
	return int(min(numbers.Divide64(sum, whole).Times(1000).Div(n).Round(), 1000))
}

// rankTable has all processes, or those with least and most CPU time.
func rankTable(list []rankTime, u numbers.Units) *table.Table {
	t := &table.Table{Title: "Time of processes, " + u.Name(), Columns: []table.Column{table.Ints("rank", "")}}
	for k := range rankParts {
		name, _, _ := strings.Cut(rankPartName(k), ":")
		t.Columns = append(t.Columns, table.Ints(name, ""))
	}
	order := slices.Clone(list)
	if len(order) > table.PageRows {
		order = slices.DeleteFunc(order, func(t rankTime) bool { return t.lost })
	}
	if n := len(order); n > table.PageRows {
		slices.SortStableFunc(order, func(a, b rankTime) int { return cmp.Compare(a.parts[partCPU], b.parts[partCPU]) })
		order = append(order[:table.PageRows/2:table.PageRows/2], order[len(order)-table.PageRows/2:]...)
		t.Title += fmt.Sprintf(", the %d with least and the %d with most CPU time", table.PageRows/2, table.PageRows/2)
		t.Notes = []string{fmt.Sprintf("and %s more: coppice report RUN.xtf intervals --ordered cpu", numbers.Plural(n-table.PageRows, "process"))}
	}
	used := [len(rankParts)]bool{}
	for i := range list {
		for k, v := range list[i].parts {
			used[k] = used[k] || v > 0
		}
	}
	for i := range order {
		row := []table.Cell{table.PlainNumber(order[i].rank)}
		for k, v := range order[i].parts {
			switch {
			case !used[k]:
				row = append(row, table.None())
			case order[i].lost:
				row = append(row, table.Cell{Text: "cannot be read"})
			default:
				row = append(row, table.Time(u, v))
			}
		}
		t.Add(row...)
	}
	return t
}

// groupOf is the group of i among n that are merged into at most most.
func groupOf(i, n, most int) int {
	if n <= most {
		return i
	}
	return int(numbers.MulDiv(uint64(i), uint64(most), uint64(n)))
}
