package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
)

// origin is how the file came to be, and the commands that make it and this
// page again.
func (d *Document) origin() (lines [][2]string, commands []string) {
	p := results.ParseProvenance(d.Summary.Provenance)
	lines = append(p.Lines(), [2]string{"file", fmt.Sprintf("%s, %s", d.Summary.File.ID, numbers.Bytes(uint64(max(d.Summary.File.Bytes, 0))))})
	analyze, note := p.Command(d.Summary.Resolution)
	commands = []string{analyze, "coppice report RUN.xtf --format html -o report.html" + d.ruleFlags()}
	if note != "" {
		commands = append(commands, note)
	}
	return lines, commands
}

// ruleFlags are the flags of rules that are not the usual ones.
func (d *Document) ruleFlags() string {
	text := ""
	if d.Intervals == nil {
		return text
	}
	if o := &d.Intervals.Options; o.Productive != string(results.ProductiveMean) {
		text += " --mpi-productive " + o.Productive
	}
	if d.Intervals.Options.Processors == "all" {
		text += " --processors all"
	}
	if r := d.Intervals.text.Rules; r.Init {
		text += " --init include"
	}
	if d.Intervals.text.Rules.IO {
		text += " --io-productive"
	}
	return text
}
