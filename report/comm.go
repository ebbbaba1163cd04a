package report

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Comm is who sends how much to whom.
type Comm struct {
	Source    results.Source  `json:"source"`
	Messages  uint64          `json:"messages"` // sent
	Bytes     uint64          `json:"bytes"`
	Pairs     []Pair          `json:"matrix"`        // by (from, to)
	Unknown   Unknown         `json:"unknown"`       // messages whose partner the definitions do not name
	Comms     []Communicator  `json:"communicators"` // used ones, in the order of their references
	Operation []CollOperation `json:"collectives"`   // in the order of the definitions
}

// Pair is the messages from one process to another. Sent ones come from the sender's rows, received ones from the receiver's. The
// two differ where messages were not matched.
type Pair struct {
	From          uint32 `json:"from"`
	To            uint32 `json:"to"`
	Messages      uint64 `json:"messages"`
	Bytes         uint64 `json:"bytes"`
	Received      uint64 `json:"received"`
	ReceivedBytes uint64 `json:"received_bytes"`
}

// Unknown counts messages whose partner the definitions do not name.
type Unknown struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// Communicator is the use of one communicator.
type Communicator struct {
	Ref       uint32 `json:"communicator"`
	Name      string `json:"name"`
	Size      int    `json:"size"` // 0: the definitions do not tell
	Channels  uint64 `json:"channels"`
	Messages  uint64 `json:"messages"`
	Bytes     uint64 `json:"bytes"`
	CollCalls uint64 `json:"collective_calls"` // of all members
	Instances uint64 `json:"collectives"`      // operations, one for all members together
	CollBytes uint64 `json:"collective_bytes"` // sent
	process   uint32 // the process whose channels are being read, and its calls
	calls     uint64
}

// CollOperation is the use of one collective operation.
type CollOperation struct {
	Region uint32 `json:"region"`
	Name   string `json:"name"`
	Calls  uint64 `json:"calls"` // of all members
	Time   uint64 `json:"time"`  // in the calls
	Bytes  uint64 `json:"bytes"` // sent and received
}

// NewComm adds up the channels of all locations, from rows or graphs. Counts and bytes are exact in both. The graph also counts
// sends that were cancelled.
func NewComm(r *results.Run, s *results.Summary, want results.Source) (*Comm, []table.Lost, error) {
	from, err := r.Source(want)
	if err != nil {
		return nil, nil, err
	}
	t := commTable{r: r, pairs: []Pair{}, comms: map[uint32]*Communicator{}, from: from}
	lost, err := r.EachLocation(results.Ranks{}, "comm", func(p trace.P) error {
		return r.Failed(xtf.Proc(p), "channels", t.add(p))
	})
	if err != nil {
		return nil, nil, err
	}
	c := &Comm{Source: from, Pairs: joinPairs(t.pairs), Unknown: t.unknown, Comms: t.used(), Operation: []CollOperation{}}
	for i := range c.Pairs {
		c.Messages += c.Pairs[i].Messages
		c.Bytes += c.Pairs[i].Bytes
	}
	all, err := results.Totals(r, s)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range all.Regions {
		if x.Kind&xtf.ClassColl != 0 {
			c.Operation = append(c.Operation, CollOperation{x.Region, x.Name, x.Calls, x.Inclusive, x.Bytes})
		}
	}
	return c, lost, nil
}

// commTable gathers the channels.
type commTable struct {
	r       *results.Run
	pairs   []Pair
	sorted  int // so many pairs are sorted and joined
	unknown Unknown
	comms   map[uint32]*Communicator

	from results.Source
}

// channels passes the channels of a location to f.
func (t *commTable) channels(p trace.P, f func(*xtf.Channel)) error {
	r := t.r
	if t.from == results.SourceRows {
		return results.Load(r, xtf.Proc(p), f)
	}
	l, err := r.Location(p)
	if err != nil {
		return err
	}
	traffic, err := l.Traffic()
	if err != nil {
		return err
	}
	for _, x := range traffic.Channels {
		c := xtf.Channel{Key: xtf.ChannelKey(x.Process, x.Comm), Tag: x.Tag, Direction: xtf.ChannelSend, Count: x.Count, Bytes: x.Bytes}
		switch x.Direction {
		case ccg.Received:
			c.Direction = xtf.ChannelReceive
		case ccg.Collective:
			c.Direction = xtf.ChannelColl
		}
		f(&c)
	}
	return nil
}

func (t *commTable) add(p trace.P) error {
	process, _ := t.r.Defs.Process(p)
	pairs, unknown := []Pair(nil), Unknown{}
	type use struct {
		comm uint32
		x    xtf.Channel
	}
	var uses []use
	var count, bytes uint64
	fits := true
	err := t.channels(p, func(x *xtf.Channel) {
		if xtf.IsNotice(x.Tag) {
			return
		}
		fits = xtf.Add(&count, x.Count) && xtf.Add(&bytes, x.Bytes) && fits
		peer, comm := uint32(x.Key>>32), uint32(x.Key)
		uses = append(uses, use{comm, *x})
		switch {
		case x.Direction == xtf.ChannelColl:
		case peer == trace.UnknownProcess && x.Direction == xtf.ChannelSend:
			unknown.Sent += x.Count
		case peer == trace.UnknownProcess:
			unknown.Received += x.Count
		case x.Direction == xtf.ChannelSend:
			pairs = append(pairs, Pair{From: process, To: peer, Messages: x.Count, Bytes: x.Bytes})
		default:
			pairs = append(pairs, Pair{From: peer, To: process, Received: x.Count, ReceivedBytes: x.Bytes})
		}
	})
	if most := xtf.Most(t.r.Defs.NumLocations()); err == nil && (!fits || max(count, bytes) > most) {
		err = fmt.Errorf("more than %d messages or bytes, where sums hold no more: %w", most, xtf.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	t.unknown.Sent += unknown.Sent
	t.unknown.Received += unknown.Received
	for i := range uses {
		t.use(uses[i].comm, process, &uses[i].x)
	}
	t.pairs = append(t.pairs, joinPairs(pairs)...)
	if len(t.pairs) > 2*t.sorted+1<<16 { // a pair has two sides, from different locations
		t.pairs = joinPairs(t.pairs)
		t.sorted = len(t.pairs)
	}
	return nil
}

func (t *commTable) use(ref, process uint32, x *xtf.Channel) {
	c := results.Made(t.comms, ref)
	c.Ref = ref
	switch x.Direction {
	case xtf.ChannelSend:
		c.Channels++
		c.Messages += x.Count
		c.Bytes += x.Bytes
	case xtf.ChannelColl:
		c.CollCalls += x.Count
		c.CollBytes += x.Bytes
		if t.r.Defs.IsSelf(ref) {
			c.Instances += x.Count
			break
		}
		if c.process != process {
			c.process, c.calls = process, 0
		}
		c.calls += x.Count
		c.Instances = max(c.Instances, c.calls)
	}
}

func (t *commTable) used() []Communicator {
	list := []Communicator{}
	for _, c := range t.comms {
		c.Name, c.Size = t.r.CommName(c.Ref), t.r.Defs.CommSize(c.Ref)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Communicator) int { return cmp.Compare(a.Ref, b.Ref) })
	return list
}

// joinPairs sorts by (from, to) and adds up equal pairs, in place.
func joinPairs(list []Pair) []Pair {
	slices.SortFunc(list, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	n := 0
	for i, x := range list {
		if i > 0 && x.From == list[n-1].From && x.To == list[n-1].To {
			y := &list[n-1]
			y.Messages += x.Messages
			y.Bytes += x.Bytes
			y.Received += x.Received
			y.ReceivedBytes += x.ReceivedBytes
			continue
		}
		list[n] = x
		n++
	}
	return slices.Clip(list[:n])
}

// matrixSize is the largest number of processes for which text shows the whole matrix.
const matrixSize = 16

// chapter shows who sends how much to whom, on which communicators, and collective operations.
func (x *Comm) chapter(d *Document, b *table.Book, c *table.Chapter) {
	c.Title = fmt.Sprintf("messages: %s of %s between %s", numbers.Count(x.Messages), numbers.Bytes(x.Bytes), numbers.Plural(len(x.Pairs), "pair"))
	noteGraph(c, x.Source, nil)
	for i := range d.Diagnostics {
		if n := d.Diagnostics[i].Count; d.Diagnostics[i].Code == trace.DiagCanceledSend && x.Source == results.SourceRows {
			c.Say("without %s, which other sections count", numbers.Plural(int(n), "cancelled send"))
		}
	}
	if x.Messages == 0 && len(x.Pairs) == 0 {
		c.Say("none")
	} else {
		if b.Page {
			c.Figure(d.matrix())
		}
		c.Table(x.pairTable())
		if !b.Page && d.Processes <= matrixSize {
			c.Table(x.matrixTable(d.Processes))
		}
		c.Table(x.endTable(d.Processes))
	}
	if x.Unknown.Sent+x.Unknown.Received > 0 {
		c.Say("with partners that the definitions do not name: %s sent, %s received", numbers.Count(x.Unknown.Sent), numbers.Count(x.Unknown.Received))
	}
	c.Table(x.communicatorTable())
	c.Table(x.operationTable(b.Unit, d.Summary.Ticks.Total))
}

func (x *Comm) pairTable() *table.Table {
	list := slices.Clone(x.Pairs)
	slices.SortStableFunc(list, func(a, b Pair) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages)) })
	return table.Fill(&table.Table{Title: "Pairs with most bytes", Kind: "pair", Columns: []table.Column{
		table.Ints("from", "from"), table.Ints("to", "to"), table.Ints("messages", "messages"), table.Ints("bytes", "bytes"), table.Reals("share", ""), table.Ints("each", ""), table.Ints("", "received").Hidden(), table.Words("", ""),
	}}, "pair", list, func(p *Pair) []table.Cell {
		each, note := table.None(), ""
		if p.Messages > 0 {
			each = table.Size(p.Bytes / p.Messages)
		}
		if p.Messages != p.Received {
			note = "received: " + numbers.Count(p.Received)
		}
		return []table.Cell{table.PlainNumber(p.From), table.PlainNumber(p.To), table.Number(p.Messages), table.Size(p.Bytes), table.Share(numbers.NewRatio(p.Bytes, x.Bytes)), each, table.Number(p.Received), table.Word(note)}
	})
}

func (x *Comm) matrixTable(n int) *table.Table {
	t := &table.Table{Title: "Bytes from each process to each", Columns: []table.Column{table.Ints("bytes from \\ to", "")}}
	rows := make([][]table.Cell, n)
	for i := range n {
		t.Columns = append(t.Columns, table.Ints(strconv.Itoa(i), ""))
		rows[i] = append(rows[i], table.PlainNumber(i))
		for range n {
			rows[i] = append(rows[i], table.Word("."))
		}
		t.Add(rows[i]...)
	}
	for _, p := range x.Pairs {
		if int64(p.From) < int64(n) && int64(p.To) < int64(n) {
			rows[p.From][p.To+1] = table.Word(short(p.Bytes))
		}
	}
	return t
}

// short prints bytes in at most four characters.
func short(n uint64) string {
	v := float64(n)
	for _, u := range []string{"", "k", "M", "G", "T", "P"} {
		switch {
		case v < 9.95 && u != "":
			return fmt.Sprintf("%.1f%s", v, u)
		case v < 999.5:
			return fmt.Sprintf("%.0f%s", v, u)
		}
		v /= 1000
	}
	return "huge"
}

// endTable lists the processes that send and receive most and least.
func (x *Comm) endTable(processes int) *table.Table {
	ends := make([][3]uint64, processes) // bytes sent and received, receivers
	for _, p := range x.Pairs {
		if int64(p.From) < int64(processes) {
			ends[p.From][0] += p.Bytes
			ends[p.From][2]++
		}
		if int64(p.To) < int64(processes) {
			ends[p.To][1] += p.ReceivedBytes
		}
	}
	t := &table.Table{Title: "What a process sends and receives", Columns: []table.Column{table.Words("per process", ""), table.Ints("mean", ""), table.Ints("min", ""), table.Ranks("rank", ""), table.Ints("max", ""), table.Ranks("rank", "")}}
	for k, name := range []string{"bytes sent", "bytes received", "receivers"} {
		sum, low, high := uint64(0), 0, 0
		for p := range ends {
			v := ends[p][k]
			sum += v
			if v < ends[low][k] {
				low = p
			}
			if v > ends[high][k] {
				high = p
			}
		}
		cell := table.Size
		if k == 2 {
			cell = table.Number
		}
		if processes > 0 {
			t.Add(table.Word(name), cell(numbers.MeanOf(sum, uint64(processes))), cell(ends[low][k]), table.AtRank(low), cell(ends[high][k]), table.AtRank(high))
		}
	}
	return t
}

func (x *Comm) communicatorTable() *table.Table {
	return table.Fill(&table.Table{Title: "Communicators", Kind: "communicator", Columns: []table.Column{
		table.Ints("", "communicator").Hidden(), table.Words("communicator", "name"), table.Ints("size", "size"), table.Ints("channels", "channels"), table.Ints("messages", "messages"), table.Ints("bytes", "bytes"),
		table.Ints("collectives", "collectives"), table.Ints("calls", "calls"), table.Ints("bytes sent", "collective_bytes"),
	}}, "communicator", x.Comms, func(c *Communicator) []table.Cell {
		n := table.PlainNumber(c.Size)
		if c.Size == 0 {
			n = table.Cell{Text: "?"}
		}
		return []table.Cell{
			table.PlainNumber(c.Ref), table.Named(fmt.Sprintf("%d %s", c.Ref, numbers.Clean(c.Name, 32)), c.Name), n, table.Number(c.Channels), table.Number(c.Messages), table.Size(c.Bytes),
			table.Number(c.Instances), table.Number(c.CollCalls), table.Size(c.CollBytes),
		}
	})
}

func (x *Comm) operationTable(u numbers.Units, total numbers.Sum) *table.Table {
	list := slices.Clone(x.Operation)
	slices.SortStableFunc(list, func(a, b CollOperation) int { return cmp.Compare(b.Time, a.Time) })
	return table.Fill(&table.Table{Title: "Collective operations", Kind: "collective", Columns: []table.Column{
		table.Words("collective", "name"), table.Ints("calls", "calls"), table.Ints(u.Name(), "time"), table.Reals("of total", ""), table.Reals(u.PerCallName(), ""), table.Ints("bytes", "bytes"),
	}}, "operation", list, func(x *CollOperation) []table.Cell {
		return []table.Cell{table.Named(numbers.Clean(x.Name, 40), x.Name), table.Number(x.Calls), table.Time(u, x.Time), table.Share(numbers.Quotient(numbers.Integer(x.Time), total)), table.Word(u.PerCall(x.Time, x.Calls)), table.Size(x.Bytes)}
	})
}

// matrixCells is the largest number of rows and columns of the drawn matrix; beyond
// it neighbouring ranks are merged.
const matrixCells = 256

// matrixClasses are the colours of the matrix: one for each step of its logarithm.
var matrixClasses = []string{"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"}

func (d *Document) matrix() *table.Figure {
	c := d.Comm
	if c == nil || len(c.Pairs) == 0 || d.Processes == 0 {
		return nil
	}
	n := min(d.Processes, matrixCells)
	sums := make([]uint64, n*n)
	messages := c.Bytes == 0 // where no message has bytes, messages are counted
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if int64(p.From) >= int64(d.Processes) || int64(p.To) >= int64(d.Processes) {
			continue
		}
		v := max(p.Bytes, p.ReceivedBytes)
		if messages {
			v = max(p.Messages, p.Received)
		}
		sums[groupOf(int(p.From), d.Processes, matrixCells)*n+groupOf(int(p.To), d.Processes, matrixCells)] += v
	}
	f := &table.Figure{Caption: fmt.Sprintf("%s messages of %s. Senders from top to bottom, receivers from left to right.", numbers.Count(c.Messages), numbers.Bytes(c.Bytes))}
	if d.Processes > matrixCells {
		f.Notes = append(f.Notes, fmt.Sprintf("%d ranks are merged into %d × %d cells.", d.Processes, n, n))
	}
	steps := newMatrixSteps(sums)
	f.Legend = steps.legend(func(v uint64) string {
		if messages {
			return numbers.Count(v) + " messages"
		}
		return numbers.Bytes(v)
	})
	const left, top, side = 60, 24, 560
	var w table.Drawing
	w.Open(left+side+20, top+side+40, "figure square", "Bytes from each rank to each", "A matrix of senders and receivers; darker cells carry more bytes, on a logarithmic scale. The table below has the largest pairs.")
	w.Add(`<rect class="paper" x="%d" y="%d" width="%d" height="%d"/>`, left, top, side, side)
	w.Mosaic(left, top, side, side, steps.rows(sums, n), matrixClasses)
	marks := 16
	if d.Processes > 9999 { // long numbers
		marks = 9
	}
	every := (n + marks - 1) / marks
	for i := 0; i < n; i += every {
		name := fmt.Sprint(i * d.Processes / n)
		w.Label(left-6, top+(2*i+1)*side/(2*n)+4, "end", name, 10)
		w.Label(left+(2*i+1)*side/(2*n), top+side+16, "middle", name, 10)
	}
	w.Label(left+side/2, top+side+34, "middle", "to rank", 20)
	w.Label(left-6, top-10, "end", "from", 20)
	f.Picture = w.HTML()
	return f
}

// matrixSteps are used steps of equal factors, 2^step each, from 2^least on. The largest value is in the last one.
type matrixSteps struct{ least, step, used int }

// newMatrixSteps chooses steps that hold all values. They are as small as the number of colours allows.
func newMatrixSteps(sums []uint64) matrixSteps {
	low, high := 1<<10, 0
	for i := range sums {
		if v := bits.Len64(sums[i]); v > 0 {
			low, high = min(low, v-1), max(high, v-1)
		}
	}
	low = min(low, high)
	step := (high-low)/len(matrixClasses) + 1
	return matrixSteps{low, step, (high-low)/step + 1}
}

// class is the index of the colour of a step. The steps share out the colours, from the faintest to the strongest.
func (s matrixSteps) class(k int) int { return (k+1)*len(matrixClasses)/s.used - 1 }

// rows returns the colours of rows of n cells.
func (s matrixSteps) rows(sums []uint64, n int) [][]int8 {
	rows := make([][]int8, len(sums)/n)
	for i := range rows {
		rows[i] = make([]int8, n)
		for k := range rows[i] {
			rows[i][k] = svg.NoCell
			if v := bits.Len64(sums[i*n+k]); v > 0 {
				rows[i][k] = int8(s.class((v - 1 - s.least) / s.step))
			}
		}
	}
	return rows
}

// legend says from which value on a cell has a colour.
func (s matrixSteps) legend(value func(v uint64) string) []table.LegendKey {
	var list []table.LegendKey
	for k := range s.used {
		list = append(list, table.LegendKey{Class: matrixClasses[s.class(k)], Text: "from " + value(1<<(s.least+k*s.step))})
	}
	return list
}
