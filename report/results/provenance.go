package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// Predicted is what a run that was predicted says of itself, nil for a recorded
// one. Its definitions have it as properties of the machine, or of the first process.
func Predicted(r *Run) [][2]string {
	var list [][2]string
	add := func(name, value uint32) {
		if text, ok := strings.CutPrefix(r.Defs.Text(name), "coppice: predicted "); ok && len(list) < 8 {
			list = append(list, [2]string{numbers.Clean(text, 40), numbers.Clean(r.Defs.Text(value), 200)})
		}
	}
	for i := range r.Defs.SystemTreeNodeProperties {
		add(r.Defs.SystemTreeNodeProperties[i].Name, r.Defs.SystemTreeNodeProperties[i].StringValue)
	}
	for i := range r.Defs.LocationGroupProperties {
		add(r.Defs.LocationGroupProperties[i].Name, r.Defs.LocationGroupProperties[i].StringValue)
	}
	return list
}

// Provenance is what decides a result, by name.
type Provenance struct {
	Events, Format, Input, Kind, Tool string
	Options                           map[string]string
}

// ParseProvenance reads what decided a result.
func ParseProvenance(b json.RawMessage) Provenance {
	var p Provenance
	_ = json.Unmarshal(b, &p) // what is not a provenance of ours has no names to show
	return p
}

// Lines are the provenance for people.
func (p *Provenance) Lines() [][2]string {
	list := [][2]string{{"written by", p.Tool}, {"format", "XTF " + p.Format}, {"input", p.Kind}, {"input's identity (SHA-256)", p.Input}}
	if p.Events != "" {
		list = append(list, [2]string{"events' identity (SHA-256)", p.Events})
	}
	for _, k := range slices.Sorted(maps.Keys(p.Options)) {
		v := p.Options[k]
		if v == "" {
			v = "default"
		}
		list = append(list, [2]string{"option " + k, v})
	}
	for i := range list {
		list[i][0], list[i][1] = numbers.Clean(list[i][0], 60), numbers.Clean(list[i][1], 300)
	}
	return list
}

// Command is the canonical command that makes the file from its trace; a comment
// follows where the provenance does not tell all of it.
func (p *Provenance) Command(resolution uint64) (command, note string) {
	o := p.Options
	words := []string{"coppice analyze TRACE -o RUN.xtf"}
	add := func(name, value string) { words = append(words, name, quoted(value)) }
	if o["events"] == "none" {
		add("--events", "none")
	}
	if v := o["deviation"]; v != "" && v != "0" {
		add("--deviation", v)
	}
	if v := o["pages"]; v != "" && v != "packed" {
		add("--pages", v)
	}
	if o["clock_repair"] == "true" {
		words = append(words, "--clock-repair")
	}
	f, whole, err := interval.FlagsOf(o["intervals"], resolution)
	if err != nil {
		note = "# the intervals of this file are those of another version: " + numbers.Clean(o["intervals"], 200)
	}
	words = append(words, intervalFlags(&f)...)
	if !whole && err == nil {
		words = append(words, "--intervals-file FILE")
		note = "# FILE: the intervals file of that analysis, of which the file keeps only the digest"
	}
	words = append(words, classFlags(o["classes"])...)
	return strings.Join(words, " "), note
}

// intervalFlags writes the flags that are set.
func intervalFlags(f *interval.Flags) []string {
	var words []string
	for _, v := range f.Intervals {
		words = append(words, "--interval "+quoted(v))
	}
	for _, x := range [][2]string{{"--markers", f.Markers}, {"--slice", f.Slice}, {"--between", f.Between}, {"--marker-cost", f.MarkerCost}, {"--recv-point", f.RecvPoint}, {"--init", f.Init}} {
		if x[1] != "" {
			words = append(words, x[0]+" "+quoted(x[1]))
		}
	}
	if f.SliceCount > 0 {
		words = append(words, fmt.Sprintf("--slice-count %d", f.SliceCount))
	}
	if f.Fold {
		words = append(words, "--fold-recursion")
	}
	return words
}

// classFlags are the flags of the options of classes, threshold=50000ppm,linkage=complete,...
func classFlags(options string) []string {
	var words []string
	for _, part := range strings.Split(options, ",") {
		name, value, _ := strings.Cut(part, "=")
		var ppm uint64
		if n, err := fmt.Sscanf(value, "%dppm", &ppm); n == 1 && err == nil {
			value = numbers.Divide64(ppm, 10000).Fixed(4)
			value = strings.TrimSuffix(strings.TrimRight(value, "0"), ".") + "%"
		}
		flag := map[string]string{
			"threshold": "--classes", "linkage": "--linkage", "metric": "--metric", "representative": "--representative", "sequence": "--sequence",
			"quantum": "--quantum", "classes-max": "--classes-max", "dendrogram": "--dendrogram",
		}[name]
		defaults := map[string]string{"linkage": "complete", "metric": "l1", "representative": "mean"}
		switch {
		case flag == "" || defaults[name] == value && value != "":
		case value == "":
			words = append(words, flag)
		default:
			words = append(words, flag+" "+quoted(value))
		}
	}
	return words
}

// quoted is a word for a shell.
func quoted(v string) string {
	v = numbers.Clean(v, 300)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=:,.%/@", r)
	}
	if v != "" && strings.IndexFunc(v, func(r rune) bool { return !plain(r) }) < 0 {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}
