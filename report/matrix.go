package report

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// matrixCells is the largest number of rows and columns of the drawn matrix; beyond
// it neighbouring ranks are merged.
const matrixCells = 256

// matrixClasses are the colours of the matrix: one for each step of its logarithm.
var matrixClasses = []string{"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"}

// matrix draws bytes from each rank to each.
func (d *Document) matrix() *table.Figure {
	c := d.Comm
	if c == nil || len(c.Pairs) == 0 || d.Processes == 0 {
		return nil
	}
	n := min(d.Processes, matrixCells)
	sums := make([]uint64, n*n)
	messages := false // where no message has bytes, they are counted
	if c.Bytes == 0 {
		messages = true
	}
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
	f.Legend = steps.legend(messages)
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

// matrixSteps are steps of equal factors, 2^step each, from 2^least on; so many are used, the last one by the largest value.
type matrixSteps struct{ least, step, used int }

// newMatrixSteps chooses steps that hold all values, as small as the number of colours allows.
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

// class is the colour of a step: the colours from the faintest to the strongest are dealt out to those that are used.
func (s matrixSteps) class(k int) int { return (k+1)*len(matrixClasses)/s.used - 1 }

// rows are the colours of n by n cells.
func (s matrixSteps) rows(sums []uint64, n int) [][]int8 {
	rows := make([][]int8, n)
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

// legend says from how many bytes on a cell has a colour.
func (s matrixSteps) legend(messages bool) []table.LegendKey {
	var list []table.LegendKey
	for k := range s.used {
		from := uint64(1) << (s.least + k*s.step)
		text := "from " + numbers.Bytes(from)
		if messages {
			text = "from " + numbers.Count(from) + " messages"
		}
		list = append(list, table.LegendKey{Class: matrixClasses[s.class(k)], Text: text})
	}
	return list
}
