package report

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of the timeline picture: rows of processes or groups, columns of time.
const (
	timelineRows    = 256
	timelineColumns = 400
	// timelineEvents is the number of events up to which a picture may come from the graph: short runs have few tiles.
	timelineEvents = 4 << 20
	// timelineParts is the number of rows of its table.
	timelineParts = 10
)

// runSpan is the span of time of a timeline, in ticks.
type runSpan struct{ begin, end uint64 }

// at is the tick in the middle of column c of n.
func (s runSpan) at(c, n int) uint64 {
	return s.begin + numbers.MulDiv(s.end-s.begin, uint64(2*c+1), uint64(2*n))
}

// timeline draws what all processes do over time and, below that, the class with most time of each process.
func (d *Document) timeline(u numbers.Units) (*table.Figure, error) {
	s := runSpan{d.Summary.First, d.Summary.Last}
	if s.begin >= s.end {
		return nil, nil
	}
	lives, err := lifetimes(d.run)
	if err != nil {
		return nil, err
	}
	shares, width, err := shareColumns(d.run, s, timelineColumns, lives)
	if err != nil {
		return nil, err
	}
	rows, text, err := d.timelineRows(s, lives)
	if err != nil {
		return nil, err
	}
	lost := 0
	for i := range rows {
		if rows[i].lost {
			lost++
		}
	}
	rows = slices.DeleteFunc(rows, func(x timelineRow) bool { return x.label == "" })
	x := &table.Figure{}
	x.Caption = "All processes together, and below each one by what takes most of its time. Time from left to right, ranks from top to bottom."
	if rows == nil {
		x.Caption = "All processes together. Time from left to right."
	}
	if text != "" {
		x.Notes = append(x.Notes, text)
	}
	if lost > 0 {
		x.Notes = append(x.Notes, numbers.Plural(lost, "row")+" cannot be read whole: empty, or without a part, and marked with a cross.")
	}
	words := shareWords(d.run)
	x.Picture, x.Legend = drawTimeline(shares, rows, words, s, u)
	if x.Table, err = exactTable(d.run, s, lives, u); err != nil {
		return nil, err
	}
	x.Notes = append(x.Notes, "The upper picture is an estimate from bins of "+u.Span(width)+".")
	if x.Table == nil {
		x.Table = shareTable(shares, words, s, u)
	}
	return x, nil
}

// viewerSpans lists the intervals that lost most, as places in the viewer. They are not links: the address and key of a server
// change with each start.
func (d *Document) viewerSpans() *table.Table {
	const most = 6
	t := &table.Table{Title: "Closer: coppice serve RUN.xtf, with this after its address", Columns: []table.Column{table.Words("interval", ""), table.Words("fragment", "")}}
	if d.Intervals == nil {
		return t
	}
	chosen := mostLost(d.Intervals.Nodes)
	for _, n := range d.Intervals.Nodes {
		if chosen[n.Index] && n.Index > 0 && n.First != nil && *n.First < *n.Last && len(t.Parts) < most {
			t.Add(table.Word(n.Text), table.Word(fmt.Sprintf("#t=%d..%d", *n.First, *n.Last)))
		}
	}
	return t
}

// shareColumns returns the shares of all processes' time by class in n parts of a span, in thousandths, from the bins of the
// whole run. The time of a living location outside of recorded calls is own code. Shares are ordered by class, then column. width
// is the width of a bin in ticks.
func shareColumns(r *results.Run, s runSpan, n int, lives []lifetime) (out [][]int, width uint64, err error) {
	a, err := r.File.Array(xtf.WholeRun, xtf.TypeTimeBin)
	if err != nil {
		return nil, 0, err
	}
	bins, err := a.Pyramid(0)
	if err != nil {
		return nil, 0, err
	}
	level := bins.Level(s.begin, s.end, n)
	first, end, err := bins.Find(level, s.begin, s.end)
	if err != nil {
		return nil, 0, err
	}
	sums := map[uint64]*xtf.TileSums{}
	err = results.EachRow(a, first, end, func(x *xtf.TimeBin) {
		results.Made(sums, x.Key).Add(x)
	})
	if err != nil {
		return nil, 0, r.Failed(xtf.WholeRun, "time bins of the whole run", err)
	}
	out = make([][]int, xtf.NumShares)
	for k := range out {
		out[k] = make([]int, n)
	}
	locations := uint64(max(len(lives), 1))
	alive := s.alive(n, lives)
	for c := range n {
		key := xtf.BinKey(level, s.at(c, n)>>(2*level))
		var share [xtf.NumShares]uint8
		if x := sums[key]; x != nil {
			share = x.Tile(key, locations, 0).Share
		}
		part := s.covered(key)
		left := alive[c]
		for k := range share {
			if k != xtf.ShareOwn {
				out[k][c] = int(min(numbers.MulDiv(uint64(share[k])*1000/255, part.width, part.inside), uint64(left)))
				left -= out[k][c]
			}
		}
		out[xtf.ShareOwn][c] = left
	}
	return out, 1 << (2 * level), nil
}

// covered returns the width of the bin of a key, and how much of it is in the span, in ticks.
func (s runSpan) covered(key uint64) (part struct{ width, inside uint64 }) {
	first, last := xtf.BinSpan(key)
	from, to := max(first, s.begin), min(last, s.end-1)
	part.width, part.inside = last-first, max(to-min(from, to), 1)
	if part.width == 0 { // bins of one tick
		part.width = 1
	}
	part.inside = min(part.inside, part.width)
	return part
}

// lifetime is the time from the first to the last event of a location that runs the program.
type lifetime struct {
	p          trace.P
	begin, end uint64
	lost       bool // it cannot be read
}

// lifetimes returns those of all locations except recorders of metrics, which only sample. That of a damaged location is empty.
func lifetimes(r *results.Run) ([]lifetime, error) {
	var list []lifetime
	for p := range trace.P(r.Defs.NumLocations()) {
		if r.Defs.Location(p).Type == trace.MetricLocation {
			continue
		}
		v, err := r.Components(p)
		if err != nil && !results.Partial(err) {
			return nil, err
		}
		list = append(list, lifetime{p, v[xtf.ItemFirst], v[xtf.ItemLast], err != nil})
	}
	return list, nil
}

// alive returns how many locations are alive in the middle of each of n columns, in thousandths of all. O(columns + locations).
func (s runSpan) alive(n int, lives []lifetime) []int {
	change := make([]int, n+1)
	column := func(t uint64) int { // the first whose middle is t or later
		t = min(max(t, s.begin), s.end) - s.begin
		c := int(numbers.MulDiv(t, uint64(n), s.end-s.begin))
		for c < n && s.at(c, n) < s.begin+t {
			c++
		}
		return c
	}
	for _, l := range lives {
		if a, b := column(l.begin), column(l.end); a < b {
			change[a]++
			change[b]--
		}
	}
	out, now := make([]int, n), 0
	for c := range out {
		now += change[c]
		out[c] = (now*1000 + len(lives)/2) / max(len(lives), 1)
	}
	return out
}

// timelineRow is a location, or a group of neighbours, in the picture.
type timelineRow struct {
	label string // process of the first location, and its thread if that is not the first one
	cells []int8 // class that takes most time, by column
	lost  bool   // a part of it cannot be read
}

// timelineRows returns the rows of the picture, one for each location or group even where it cannot be read, and a note about
// what a row is. It returns nil where the file has no tiles and is too long for its graph.
func (d *Document) timelineRows(s runSpan, lives []lifetime) (rows []timelineRow, text string, err error) {
	r := d.run
	locations := r.Defs.NumLocations()
	f, size := uint8(0), 1
	for (locations+size-1)/size > timelineRows && f < 15 {
		f, size = f+1, size*16
	}
	if f > 0 {
		text = fmt.Sprintf("Each row is %d locations.", size)
	}
	of := make([]lifetime, locations)
	for _, l := range lives {
		of[l.p] = l
	}
	for p := 0; p < locations; p += size {
		rank, thread := r.Defs.Process(trace.P(p))
		row := timelineRow{label: fmt.Sprint(rank), cells: slices.Repeat([]int8{svg.NoCell}, timelineColumns)}
		life := of[p]
		switch {
		case f == 0 && r.Defs.Location(trace.P(p)).Type == trace.MetricLocation:
			row.label = "" // it computes nothing
		case f == 0 && thread > 0:
			row.label, text = fmt.Sprintf("%d/%d", rank, thread), "Rows are process/thread."
		}
		if f > 0 {
			life = lifetime{begin: s.begin, end: s.end}
		}
		of[p], row.lost = life, life.lost
		rows = append(rows, row)
	}
	width, err := tiled(r, f, size)
	fine := width > 0 && (s.end-s.begin)/width >= timelineColumns/4
	switch {
	case err != nil:
		return nil, "", err
	case !fine && d.Events <= timelineEvents && f == 0:
		if err := graphRows(r, s, of, rows); !errors.Is(err, results.ErrNoResult) {
			return rows, text, err
		}
		return nil, "", nil
	case width == 0:
		return nil, "", nil
	case !fine:
		text = strings.TrimLeft(text+fmt.Sprintf(" What is shorter than %s, a bin of time, is not seen there.", numbers.Units{Resolution: d.Summary.Resolution}.Span(width)), " ")
	}
	for i := range rows {
		err := tileRow(r, xtf.Proc(i*size), f, s, of[i*size], rows[i].cells)
		if err != nil && !results.Partial(err) {
			return nil, "", err
		}
		rows[i].lost = rows[i].lost || err != nil
	}
	return rows, text, nil
}

// tiled returns the width in ticks of the finest tiles of groups of level f, 0 where there are none. The first group that can be
// read decides, since all are alike.
func tiled(r *results.Run, f uint8, size int) (width uint64, err error) {
	for p := 0; p < r.Defs.NumLocations(); p += size {
		var bins *xtf.Pyramid
		a, err := r.File.Array(xtf.Proc(p), xtf.TypeTile)
		if err == nil {
			bins, err = a.Pyramid(f)
		}
		switch {
		case err == nil && a.Len() == 0:
			return 0, nil
		case err == nil:
			return 1 << (2 * bins.Finest), nil
		case !results.Partial(err):
			return 0, err
		}
	}
	return 0, nil
}

// tileRow fills in the class with most time in each column, of one location or group.
func tileRow(r *results.Run, p xtf.Proc, f uint8, s runSpan, life lifetime, row []int8) error {
	a, err := r.File.Array(p, xtf.TypeTile)
	if err != nil {
		return err
	}
	bins, err := a.Pyramid(f)
	if err != nil {
		return err
	}
	level := bins.Level(s.begin, s.end, timelineColumns)
	n1, n2, err := bins.Find(level, s.begin, s.end)
	classes := map[uint64]int8{}
	if err == nil {
		err = results.EachRow(a, n1, n2, func(x *xtf.Tile) {
			classes[x.Key] = s.dominant(x)
		})
	}
	if err != nil {
		return err
	}
	for c := range row {
		t := s.at(c, timelineColumns)
		if t < life.begin || t >= life.end {
			continue
		}
		row[c] = xtf.ShareOwn // in no recorded call
		if k, ok := classes[xtf.TileKey(f, level, t>>(2*level))]; ok {
			row[c] = k
		}
	}
	return nil
}

// dominant is the class with most time in a tile.
func (s runSpan) dominant(x *xtf.Tile) int8 {
	part := s.covered(x.Key)
	rest := int(numbers.MulDiv(255, part.inside, part.width))
	best, most := int8(xtf.ShareOwn), 0
	for k, v := range x.Share {
		rest -= int(v)
		if k != xtf.ShareOwn && int(v) > most {
			best, most = int8(k), int(v)
		}
	}
	if int(x.Share[xtf.ShareOwn])+max(rest, 0) >= most {
		return xtf.ShareOwn
	}
	return best
}

// graphRows fills in the rows of all locations from the call graph.
func graphRows(r *results.Run, s runSpan, lives []lifetime, rows []timelineRow) error {
	p, err := lookup.NewPicture(r, results.Ranks{}, s.begin, s.end, timelineColumns)
	if results.Partial(err) {
		for i := range rows {
			rows[i].lost = true
		}
		return nil
	}
	if err != nil {
		return err
	}
	t, err := results.WholeTable(r)
	if err != nil {
		return err
	}
	classes := make([]int8, len(p.Regions))
	for i := range p.Regions {
		if k, ok := r.Defs.SameRegion(p.Regions[i].Region); ok {
			classes[i] = int8(xtf.ShareOf(t.Sums[k].Class))
		}
	}
	for _, l := range p.Lost {
		if at, ok := r.Defs.Ordinal(l.Location); ok {
			rows[at].lost = true
		}
	}
	for i := range p.Rows {
		at, ok := r.Defs.Ordinal(p.Rows[i].Location)
		if !ok {
			continue
		}
		life := lives[at]
		for c, k := range p.Rows[i].Pixels {
			switch t := s.at(c, timelineColumns); {
			case k >= 0:
				rows[at].cells[c] = classes[k]
			case t >= life.begin && t < life.end:
				rows[at].cells[c] = xtf.ShareOwn
			}
		}
	}
	return nil
}

// drawTimeline draws the shares, the rows below them and the axis of time.
func drawTimeline(shares [][]int, rows []timelineRow, words [xtf.NumShares]string, s runSpan, u numbers.Units) (template.HTML, []table.LegendKey) {
	const left, top, width, upper, gap = 60, 12, 900, 90, 10
	lower := 0
	if rows != nil {
		lower = min(max(12*len(rows), 40), 320)
	}
	var used [xtf.NumShares]bool
	for k := range used {
		for _, v := range shares[k] {
			used[k] = used[k] || v > 0
		}
	}
	cells := make([][]int8, len(rows))
	for i := range rows {
		cells[i] = rows[i].cells
		for _, k := range cells[i] {
			if k >= 0 {
				used[k] = true
			}
		}
	}
	var w table.Drawing
	bottom := top + upper + gap + lower
	w.Open(left+width+30, bottom+40, "figure", "Timeline of the whole run", "Above, the shares of classes in all processes' time; below, for each process the class that takes most of each piece of time. The table below has the shares.")
	w.Add(`<rect class="paper" x="%d" y="%d" width="%d" height="%d"/>`, left, top, width, upper)
	w.Stack(left, top, width, upper, shares, shareColours[:])
	w.Label(left-8, top+12, "end", "100 %", 10)
	w.Label(left-8, top+upper, "end", "0", 10)
	if rows != nil {
		w.Add(`<rect class="paper" x="%d" y="%d" width="%d" height="%d"/>`, left, top+upper+gap, width, lower)
		w.Mosaic(left, top+upper+gap, width, lower, cells, shareColours[:])
		every := (len(rows) + 15) / 16
		for i := range rows {
			y := top + upper + gap + (2*i+1)*lower/(2*len(rows)) + 4
			if i%every == 0 {
				w.Label(left-8, y, "end", rows[i].label, 10)
			}
			if rows[i].lost {
				w.Label(left+width+6, y, "start", "×", 10)
			}
		}
	}
	w.Axis(left, bottom, width, table.AxisMarks(s.end-s.begin, u))
	var legend []table.LegendKey
	for k, word := range words {
		if used[k] {
			legend = append(legend, table.LegendKey{Class: shareColours[k], Text: word})
		}
	}
	return w.HTML(), legend
}

// exactLocations is the largest number of locations for which the table of shares is exact: that takes ten look-ups in the
// running totals of each.
const exactLocations = 1024

// part returns part i of n parts of the span.
func (s runSpan) part(i, n uint64) (begin, end uint64) {
	return s.begin + numbers.MulDiv(s.end-s.begin, i, n), s.begin + numbers.MulDiv(s.end-s.begin, i+1, n)
}

// exactTable has the exact shares of all locations' time in tenths of the run, from running totals. It is nil without totals,
// with too many locations, and with a damaged one.
func exactTable(r *results.Run, s runSpan, lives []lifetime, u numbers.Units) (*table.Table, error) {
	if !r.Rows || len(lives) == 0 || len(lives) > exactLocations {
		return nil, nil
	}
	var sums [timelineParts][xtf.NumItems]uint64
	for _, l := range lives {
		x, err := r.Running(l.p, nil)
		if err == nil {
			x.Cut, x.First, x.Last = false, l.begin, l.end // set-up is part of the run
		}
		for i := range sums {
			if err != nil {
				break
			}
			var v interval.Items
			begin, end := s.part(uint64(i), timelineParts)
			if v, err = x.Between(begin, end); err == nil {
				for _, item := range xtf.Parts {
					for _, part := range xtf.PartsOf(item) {
						v[item] -= min(v[item], v[part])
					}
					sums[i][item] += v[item]
				}
			}
		}
		if results.Partial(err) { // a part of the numbers would be missing
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return partTable(s, "Share of all processes' time", u, xtf.Parts, results.ItemWord, func(i uint64, item xtf.Item) numbers.Ratio {
		begin, end := s.part(i, timelineParts)
		return numbers.Quotient(numbers.Integer(sums[i][item]), numbers.Times(numbers.Integer(uint64(len(lives))), end-begin))
	}), nil
}

// partTable has the share of each class in tenths of the span. It leaves out classes without time.
func partTable[T any](s runSpan, title string, u numbers.Units, classes []T, name func(T) string, of func(part uint64, class T) numbers.Ratio) *table.Table {
	t := &table.Table{Title: title, Columns: []table.Column{table.Words("from", ""), table.Words("to", "")}}
	rows := make([][]table.Cell, timelineParts)
	for i := range rows {
		begin, end := s.part(uint64(i), timelineParts)
		for _, v := range []uint64{begin, end} {
			cell := table.Time(u, v-s.begin)
			cell.Text += " " + u.Name()
			rows[i] = append(rows[i], cell)
		}
	}
	for _, class := range classes {
		var shares [timelineParts]numbers.Ratio
		for i := range shares {
			shares[i] = of(uint64(i), class)
		}
		if !slices.ContainsFunc(shares[:], func(r numbers.Ratio) bool { return r.Value > 0 }) {
			continue
		}
		t.Columns = append(t.Columns, table.Reals(name(class), ""))
		for i, r := range shares {
			rows[i] = append(rows[i], table.Share(r))
		}
	}
	for _, row := range rows {
		t.Add(row...)
	}
	return t
}

// shareTable has the shares of all processes' time in tenths of the run, from the columns of the picture. They are estimates,
// because tenths do not begin where bins do.
func shareTable(shares [][]int, names [xtf.NumShares]string, s runSpan, u numbers.Units) *table.Table {
	classes := make([]int, len(names))
	for k := range classes {
		classes[k] = k
	}
	n := uint64(len(shares[0]))
	return partTable(s, "Share of all processes' time, an estimate from bins of time", u, classes, func(k int) string { return names[k] }, func(i uint64, k int) numbers.Ratio {
		a, b := i*n/timelineParts, (i+1)*n/timelineParts
		sum := 0
		for _, v := range shares[k][a:b] {
			sum += v
		}
		return numbers.NewRatio(uint64(sum), 1000*(b-a))
	})
}

// rankParts are the parts of a process's time in the profile of ranks, from the lower edge up. They do not overlap. Idle is the
// difference to the longest process.
var rankParts = [...]struct {
	class   string
	items   []xtf.Item // added up; none: idle time
	waits   []xtf.Item // waits inside of them
	waiting bool       // the part is these waits; else the rest of items
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

// rankPartName is the name of a part, without the explanation after a colon.
func rankPartName(k int) string {
	name := cmp.Or(wordsOf(rankParts[k].items), "idle: began late or ended early")
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

// processItemsRankTime splits the time of a process; longest is the time of the longest one.
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

// ranks draws the profile of ranks: a column for each process, or the mean of neighbours. Its table lists the processes that
// differ most.
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
			parts[k][c] = int(min(numbers.Divide64(sum, longest).Times(1000).Div(uint64(len(group))).Round(), 1000))
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

// rankTable lists all processes, or those with least and most CPU time.
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

// groupOf is the group of item i of n, merged into at most most groups.
func groupOf(i, n, most int) int {
	if n <= most {
		return i
	}
	return int(numbers.MulDiv(uint64(i), uint64(most), uint64(n)))
}

// wordsOf are the words of several components.
func wordsOf(items []xtf.Item) string {
	var list []string
	for _, i := range items {
		list = append(list, results.ItemWord(i))
	}
	return strings.Join(list, ", ")
}

// shareColours are the colours of classes of time in tiles.
var shareColours = [xtf.NumShares]string{
	xtf.ShareOwn: "k-cpu", xtf.ShareP2P: "k-p2p", xtf.ShareColl: "k-coll", xtf.ShareBarrier: "k-barrier",
	xtf.ShareRMA: "k-rma", xtf.ShareOther: "k-mgmt", xtf.ShareIO: "k-io", xtf.ShareStart: "k-start",
}

// shareWords are the words of the classes of time in tiles: those of the states of the run's regions, or else of the first state
// of the class.
func shareWords(r *results.Run) [xtf.NumShares]string {
	return [xtf.NumShares]string(results.ClassWords(r, xtf.NumShares, func(s trace.State) int { return xtf.States[s].Share }))
}
