package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/fileio"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// The thresholds are those of Drishti (Bez and others, PDSW 2022), for at least 1000 operations: more than a tenth that ask for
// less than 1 MiB, or are not aligned; more than a fifth that are neither sequential nor consecutive. The thresholds of bytes are
// coppice's own.
const (
	fileAmong   = 1000
	smallOneOf  = 10
	randomOneOf = 5
	serialShare = 0.9 // of the bytes by one process
)

// fileChapter shows the operations on files, and advice about them.
func fileChapter(x *fileio.Totals, b *table.Book, c *table.Chapter, runtime uint64) {
	least := runtime / 100
	c.Title = fmt.Sprintf("file I/O: %s", numbers.Plural(len(x.Files), "file"))
	if len(x.Interfaces) == 0 {
		c.Say("no operations on files: the program has none, or they were not recorded (coppice record --io)")
	}
	c.Table(useTable(b.Unit, "Files by interface", "interface", "", x.Interfaces, func(*fileio.Use) table.Cell { return table.None() }))
	c.Table(useTable(b.Unit, "Files", "file", "file", x.Files, func(u *fileio.Use) table.Cell { return table.Named(numbers.Clean(u.File, 48), u.File) }))
	c.Table(useTable(b.Unit, "Files by node", "node", "node", x.Nodes, func(u *fileio.Use) table.Cell { return table.Named(numbers.Clean(u.Node, 32), u.Node) }))
	c.Table(useTable(b.Unit, "Files by process", "process", "process", x.Processes, func(u *fileio.Use) table.Cell { return table.PlainNumber(*u.Process) }))
	c.Table(sizeTable(x))
	c.Table(offsetTable(x))
	if b.Page {
		c.Figure(fileTimes(x, b.Unit))
	}
	for i := range x.Files {
		for _, text := range fileAdvice(&x.Files[i], least) {
			c.Say("%s", text)
		}
	}
}

// fileAdvice says what to change in the use of a file. It ignores operations that take fewer than least ticks, and small ones of
// C streams, which gather them in a buffer.
func fileAdvice(u *fileio.Use, least uint64) (list []string) {
	name := numbers.Clean(u.File, 48)
	if u.Ticks() < least {
		return nil
	}
	for i, s := range []*fileio.Sum{&u.Read, &u.Write} {
		if s.Time < least || strings.HasPrefix(u.Interface, "ISO C") {
			continue
		}
		what := [...]string{"reads", "writes"}[i]
		if s.Followed >= fileAmong && s.Random() > s.Followed/randomOneOf {
			list = append(list, fmt.Sprintf("%s: %s of %s %s begin before the end of the one before: sort them, or let MPI-IO's collective calls do it (reported from a fifth of %d on)", name, numbers.Count(s.Random()), numbers.Count(s.Followed), what, fileAmong))
		}
		if s.Placed >= fileAmong && s.Unaligned > s.Placed/smallOneOf {
			list = append(list, fmt.Sprintf("%s: %s of %s %s do not begin at a multiple of %d bytes, the usual block of file systems: align them to the blocks or stripes of the file (reported from a tenth of %d on)", name, numbers.Count(s.Unaligned), numbers.Count(s.Placed), what, fileio.Alignment, fileAmong))
		}
		if s.Again > s.Bytes/smallOneOf {
			list = append(list, fmt.Sprintf("%s: %s of %s were read before by the same process, and not written since: keep them (reported from a tenth on)", name, numbers.Bytes(s.Again), numbers.Bytes(s.Bytes)))
		}
		if i == 0 && u.Write.Count == 0 && s.Shared() > s.Bytes/smallOneOf {
			list = append(list, fmt.Sprintf("%s: at least %s of %s were read by several processes: read them on one and broadcast them, or let MPI-IO's collective calls do it (reported from a tenth on)", name, numbers.Bytes(s.Shared()), numbers.Bytes(s.Bytes)))
		}
		if s.Count >= fileAmong && s.Small > s.Count/smallOneOf {
			list = append(list, fmt.Sprintf("%s: %s of %s %s ask for less than 1 MiB, the mean is %s: ask for more at once, or let MPI-IO's collective calls gather them (reported from a tenth of %d on)",
				name, numbers.Count(s.Small), numbers.Count(s.Count), what, numbers.Bytes(numbers.MeanOf(s.Bytes, s.Count)), fileAmong))
		}
	}
	if u.Users > 1 && float64(u.TopBytes) >= serialShare*float64(u.Moved()) && u.TopBytes > 0 {
		list = append(list, fmt.Sprintf("%s: rank %d reads and writes %s of its %s, %s use it", name, u.Top, numbers.Bytes(u.TopBytes), numbers.Bytes(u.Moved()), numbers.Plural(u.Users, "process")))
	}
	return list
}

// useTable lists uses. what is the first column: the name of a use.
func useTable(u numbers.Units, title, kind, key string, list []fileio.Use, what func(*fileio.Use) table.Cell) *table.Table {
	t := &table.Table{Title: title, Kind: kind}
	if key != "" {
		t.Columns = append(t.Columns, table.Words(key, key))
	}
	t.Columns = append(t.Columns, table.Words("interface", "interface"), table.Ints("procs", "used_by"),
		table.Ints("reads", "reads"), table.Ints("bytes read", "read_bytes"), table.Ints(u.Name(), "read_time"), table.Ints("per "+u.Name(), ""),
		table.Ints("writes", "writes"), table.Ints("bytes written", "write_bytes"), table.Ints(u.Name(), "write_time"), table.Ints("per "+u.Name(), ""),
		table.Ints("others", "others"), table.Ints(u.Name(), "other_time"), table.Ints("unended", "without_end"))
	table.Fill(t, kind, list, func(x *fileio.Use) []table.Cell {
		var cells []table.Cell
		if key != "" {
			cells = append(cells, what(x))
		}
		cells = append(cells, table.Word(x.Interface), table.Number(x.Users))
		for _, s := range []*fileio.Sum{&x.Read, &x.Write} {
			cells = append(cells, table.Number(s.Count), table.Size(s.Bytes), table.Time(u, s.Time), rate(u, s))
		}
		return append(cells, table.Number(x.Other.Count), table.Time(u, x.Other.Time), table.Number(x.Read.Unended+x.Write.Unended+x.Other.Unended))
	})
	return t
}

// rate is bytes per time that operations took.
func rate(u numbers.Units, s *fileio.Sum) table.Cell {
	if s.Time == 0 {
		return table.None()
	}
	return table.Size(uint64(float64(s.Bytes) / float64(s.Time) * float64(max(u.Resolution, 1))))
}

func sizeTable(x *fileio.Totals) *table.Table {
	t := &table.Table{Title: "Sizes that are asked for", Kind: "size", Columns: []table.Column{table.Words("interface", "interface"), table.Ints("from", "from"), table.Ints("reads", "reads"), table.Ints("writes", "writes")}}
	table.Fill(t, "size", x.Sizes, func(s *fileio.Sizes) []table.Cell {
		return []table.Cell{table.Word(s.Interface), table.Size(s.From), table.Number(s.Reads), table.Number(s.Writes)}
	})
	return t
}

// offsetTable shows where in files operations are, over all interfaces and files with known offsets.
func offsetTable(x *fileio.Totals) *table.Table {
	type line struct {
		u    *fileio.Use
		s    *fileio.Sum
		kind string
	}
	var list []line
	for _, uses := range [][]fileio.Use{x.Interfaces, x.Files} {
		for i := range uses {
			u := &uses[i]
			for k, s := range []*fileio.Sum{&u.Read, &u.Write} {
				if s.Placed > 0 {
					list = append(list, line{u, s, [...]string{"reads", "writes"}[k]})
				}
			}
		}
	}
	return table.Fill(&table.Table{Title: "Offsets", Kind: "offset", Columns: []table.Column{
		table.Words("file", "file"), table.Words("interface", "interface"), table.Words("operations", "operations"), table.Ints("at known offsets", "placed"), table.Reals("sequential", "sequential"), table.Reals("consecutive", "consecutive"),
		table.Reals("random", "random"), table.Reals("unaligned", "unaligned"), table.Ints("read again", "bytes_again"),
	}}, "offset", list, func(x *line) []table.Cell {
		name := cmp.Or(x.u.File, "(all files)")
		of := func(a, b uint64) table.Cell { return table.Share(numbers.NewRatio(a, b)) }
		s := x.s
		cells := []table.Cell{table.Named(numbers.Clean(name, 48), x.u.File), table.Word(x.u.Interface), table.Word(x.kind), table.Number(s.Placed), of(s.Sequential, s.Followed), of(s.Consecutive, s.Followed), of(s.Random(), s.Followed), of(s.Unaligned, s.Placed), {}}
		if x.kind == "reads" {
			cells[8] = table.Size(s.Again)
		}
		return cells
	})
}

// heatFiles is how many files the picture has.
const heatFiles = 24

// fileTimes draws when files are in use.
func fileTimes(x *fileio.Totals, u numbers.Units) *table.Figure {
	n := min(len(x.Files), heatFiles)
	var sums []uint64
	for i := range n {
		sums = append(sums, x.Files[i].Busy[:]...)
	}
	steps := newMatrixSteps(sums)
	if n == 0 || !slices.ContainsFunc(sums, func(v uint64) bool { return v > 0 }) {
		return nil
	}
	const left, top, width, row = 240, 8, 700, 18
	var w table.Drawing
	w.Open(left+width+20, top+n*row+30, "figure", "Files over time", "A row for each file and a column for each part of the run; darker cells are longer in operations, on a logarithmic scale.")
	w.Add(`<rect class="paper" x="%d" y="%d" width="%d" height="%d"/>`, left, top, width, n*row)
	w.Mosaic(left, top, width, n*row, steps.rows(sums, fileio.Bins), matrixClasses)
	for i := range n {
		name := x.Files[i].File
		if k := strings.LastIndexByte(name, '/'); k >= 0 {
			name = name[k+1:]
		}
		by, _, _ := strings.Cut(x.Files[i].Interface, " I/O")
		w.Label(left-6, top+i*row+row*2/3, "end", numbers.Clean(name, 26)+", "+by, 34)
	}
	w.Label(left+width/2, top+n*row+20, "middle", "time of the run", 30)
	f := &table.Figure{Picture: w.HTML(), Caption: fmt.Sprintf("%s that are longest in operations, in %d parts of the run.", numbers.Plural(n, "file"), fileio.Bins)}
	f.Legend = steps.legend(func(v uint64) string { return u.Span(v) })
	return f
}
