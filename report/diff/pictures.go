package diff

import (
	"strings"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// drawnRegions is how many regions the picture of their times has.
const drawnRegions = 12

// efficiencies draws POP's efficiencies of the whole program before and after.
func (d *Diff) efficiencies() *table.Figure {
	var list []DiffLine
	for _, name := range []string{"parallel_efficiency", "load_balance", "communication_efficiency", "serialisation_efficiency", "transfer_efficiency"} {
		x := *d.Intervals[0].Metric(name)
		x.Name = strings.ReplaceAll(name, "_", " ")
		list = append(list, x)
	}
	return d.bars("Efficiencies of both runs", "POP's efficiencies of the whole program; the full width is 1.", list, numbers.Whole(1))
}

// moves draws the times of the regions that changed most.
func (d *Diff) moves() *table.Figure {
	var list []DiffLine
	longest := numbers.Whole(0)
	for i := range d.Regions[:min(len(d.Regions), drawnRegions)] {
		x := d.Regions[i].Time
		x.Name = d.Regions[i].Name
		for _, v := range []DiffNumber{x.A, x.B} {
			if v.Known() && v.Compare(longest) > 0 {
				longest = v.Fraction
			}
		}
		list = append(list, x)
	}
	return d.bars("Times of regions in both runs", "The regions whose time changed most, the largest change first, in "+d.unitName()+" of a process on average.", list, longest)
}

// bars draws a bar of A above one of B for each line that both know, nil for none; longest is the full width.
func (d *Diff) bars(name, caption string, list []DiffLine, longest numbers.Fraction) *table.Figure {
	const left, width, row, most = 230, 560, 30, 1000
	drawn := list[:0:0]
	for _, x := range list {
		if x.A.Known() && x.B.Known() {
			drawn = append(drawn, x)
		}
	}
	if len(drawn) == 0 || longest.Sign() <= 0 {
		return nil
	}
	var w table.Drawing
	var words []string
	for i := range drawn {
		x := &drawn[i]
		words = append(words, numbers.Clean(x.Name, 40)+" "+rounded(d, x.kind, x.A)+" to "+rounded(d, x.kind, x.B))
	}
	w.Open(left+width+180, row*len(drawn)+6, "figure", name, strings.Join(words, "; "))
	for i := range drawn {
		x, y := &drawn[i], 4+row*i
		w.Label(left-8, y+15, "end", x.Name, 34)
		for k, v := range []numbers.Fraction{x.A.Fraction, x.B.Fraction} {
			wide := min(max(v.Over(longest).Times(most).Round(), 1), most) * width / most
			w.Add(`<rect class="%s" x="%d" y="%d" width="%d" height="10"/>`, [...]string{"k-mgmt", "k-coll"}[k], left, y+11*k, max(wide, 1))
		}
		text := rounded(d, x.kind, x.A) + " to " + rounded(d, x.kind, x.B)
		if x.kind != conditions.Share {
			text += " (" + x.percent() + ")"
		}
		w.Label(left+width+8, y+15, "start", text, 40)
	}
	return &table.Figure{Picture: w.HTML(), Caption: caption, Legend: []table.LegendKey{{Class: "k-mgmt", Text: "A: " + numbers.Clean(d.Runs[0].Name, 40)}, {Class: "k-coll", Text: "B: " + numbers.Clean(d.Runs[1].Name, 40)}}}
}
