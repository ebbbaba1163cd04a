package inspect

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/verify"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"golang.org/x/sync/errgroup"
)

// checked is the result of a check.
type checked struct {
	Kind      string           `json:"kind"` // archive or run
	Clean     bool             `json:"clean"`
	Found     uint64           `json:"found"` // problems, including those that are not listed
	Problems  []problem        `json:"problems"`
	Notes     []string         `json:"notes"`
	Events    uint64           `json:"events"` // decoded, or of the run
	Locations int              `json:"locations"`
	Bytes     uint64           `json:"bytes"`          // sound bytes
	Pages     *uint64          `json:"pages"`          // sound pages, of a run
	Rows      *uint64          `json:"rows"`           // readable rows, of a run
	LostRows  *uint64          `json:"lost_rows"`      // of a run
	Regions   *uint64          `json:"lost_locations"` // locations whose region's head cannot be read
	Compared  *verify.Verified `json:"compared"`       // of a run
	Readable  []part           `json:"readable"`       // parts of a run that does not open

	envelope results.Envelope
	brief    results.Brief
	meter    *jobs.Meter
	mu       sync.Mutex // guards meter
}

// Check verifies a trace or a result to the last page, with parallel locations at once. show, unless nil, is called with the
// progress. For a result that does not open, err says why, and r lists the parts that can be read, if there are any.
func Check(path string, kind Kind, parallel int, show func(jobs.Progress)) (r *results.Answer, clean bool, err error) {
	c := &checked{Problems: []problem{}, Notes: []string{}, meter: jobs.NewMeter(mpi.Serial(), show)}
	if kind == KindRun {
		if err = c.checkRun(path, parallel); err != nil && !c.salvage(path, err) {
			return nil, false, err
		}
	} else if err = c.checkTrace(path, parallel); err != nil {
		return nil, false, err
	}
	c.meter.Close(false)
	c.Clean = c.Found == 0
	text := func(w io.Writer, limit int) error { return c.text(w, path, limit) }
	return &results.Answer{Envelope: c.envelope, Brief: &c.brief, Value: c, Text: text}, c.Clean, err
}

// pass counts bytes that were checked.
func (c *checked) pass(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meter.Add(bytes)
}

// stage begins a part of the check that reads so many bytes.
func (c *checked) stage(name string, bytes uint64) { c.meter.Stage(name, bytes, bytes) }

// problem is one finding and its place.
type problem struct {
	Kind     string `json:"kind"` // code of a diagnostic, page, or contradiction
	Severity string `json:"severity"`
	verify.Contradiction
	Time  *uint64 `json:"time"` // ticks, as in the archive
	Event *uint64 `json:"event"`
	Count uint64  `json:"count"`
}

// at sets the location of a problem.
func (p *problem) at(d *trace.Definitions, loc trace.P) {
	process, thread := d.Process(loc)
	p.Location, p.Process, p.Thread = new(d.Location(loc).Ref), &process, &thread
}

func (p *problem) where() string {
	if p.Location == nil {
		return "whole run"
	}
	text := fmt.Sprintf("location %d", *p.Location)
	if p.Process != nil && p.Thread != nil {
		text = fmt.Sprintf("process %d thread %d (location %d)", *p.Process, *p.Thread, *p.Location)
	}
	if p.Event != nil {
		text += fmt.Sprintf(", event %d", *p.Event)
	}
	if p.Time != nil {
		text += fmt.Sprintf(", tick %d", *p.Time)
	}
	return text
}

// checkRun checks an XTF file: its pages, its call graph, and whether its parts agree.
func (c *checked) checkRun(path string, parallel int) error {
	c.Kind = "run"
	f, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	run, openErr := results.Open(path, xtf.Options{})
	if openErr != nil && !errors.Is(openErr, xtf.ErrCorrupt) {
		return openErr
	}
	pages := f // without definitions the times of calls are not known
	if openErr == nil {
		defer run.Close()
		pages = run.File
	}
	c.meter.Plan([]jobs.Cost{{Stage: "pages", Cost: 15}, {Stage: "graph", Cost: 13}, {Stage: "rows", Cost: 72}})
	c.stage("pages", uint64(st.Size()))
	res, err := xtf.Check(pages, c.pass)
	if err != nil {
		return err
	}
	if rest := restOf(path); rest != "" {
		c.Notes = append(c.Notes, rest)
	}
	c.read(res)
	c.Locations = int(f.Procs())
	for _, p := range res.Problems {
		c.Problems = append(c.Problems, pageProblem(f, run, p))
	}
	if openErr != nil {
		c.add(problem{Kind: "page", Severity: "damage", Count: 1, Contradiction: verify.Contradiction{Text: "definitions or provenance cannot be read, so nothing was compared: " + openErr.Error()}})
		c.brief.Partial = true
		return nil
	}
	if err := c.compare(run, parallel); err != nil {
		return err
	}
	if c.envelope, err = run.Envelope(); err != nil {
		c.Notes = append(c.Notes, "diagnostics of the analysis cannot be read: "+err.Error())
	}
	c.Events = c.envelope.Events
	return nil
}

// compare runs the checks that need the definitions.
func (c *checked) compare(run *results.Run, parallel int) error {
	c.stage("graph", uint64(run.Size))
	err := verify.CheckGraph(run, c.pass)
	switch {
	case err == nil:
	case errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, graph.ErrCorrupt) || errors.Is(err, xtf.ErrNoSection):
		c.add(problem{Kind: "call graph", Severity: "damage", Count: 1, Contradiction: verify.Contradiction{Array: "call graph", Text: err.Error()}})
	default:
		return err
	}
	c.stage("rows", uint64(run.Size))
	v, err := verify.New(run, parallel, c.pass)
	if err != nil {
		return err
	}
	c.Compared = v
	for _, s := range v.Skipped {
		c.Notes = append(c.Notes, "not compared: "+s)
	}
	for _, f := range v.Findings {
		c.Problems = append(c.Problems, problem{Kind: "contradiction", Severity: "damage", Count: 1, Contradiction: f})
	}
	c.Found += v.Found
	brief, err := run.Brief()
	switch {
	case errors.Is(err, xtf.ErrCorrupt):
		c.brief.Partial = true
		return nil
	case err != nil:
		return err
	}
	c.brief = *brief
	if brief.Partial {
		c.Notes = append(c.Notes, "the input of the analysis was damaged or incomplete: results are partial; coppice report "+run.Path+" diagnostics lists what is missing")
	}
	return nil
}

// read records what could be read of a result.
func (c *checked) read(x *xtf.CheckResult) {
	c.Found += x.Found
	c.Bytes, c.Pages, c.Rows, c.LostRows, c.Regions = x.Bytes, &x.Pages, &x.Rows, &x.LostRows, &x.Lost
}

func (c *checked) add(p problem) {
	c.Found++
	c.Problems = append(c.Problems, p)
}

// pageProblem describes a problem of a file. Without an open run there are no definitions to name its place.
func pageProblem(f *xtf.File, run *results.Run, p xtf.Problem) problem {
	x := problem{Kind: "page", Severity: "damage", Count: max(p.Rows, 1), Contradiction: verify.Contradiction{Text: p.String()}}
	if f != nil && p.Type != 0 {
		if t := f.Types().Lookup(p.Type); t != nil {
			x.Array = t.Name
		}
	}
	if p.Rows > 0 {
		x.Row = &p.First
	}
	if p.P == xtf.WholeRun {
		return x
	}
	x.Location = new(uint64(p.P))
	if run != nil {
		x.at(run.Defs, trace.P(p.P))
	}
	return x
}

func (c *checked) text(w io.Writer, path string, limit int) error {
	fmt.Fprintf(w, "%s: %s, %s, %s events, %s read\n", path, c.Kind, numbers.Plural(c.Locations, "location"), numbers.Count(c.Events), numbers.Bytes(c.Bytes))
	if c.Pages != nil {
		fmt.Fprintf(w, "%s pages and %s rows are sound", numbers.Count(*c.Pages), numbers.Count(*c.Rows))
		if *c.LostRows > 0 || *c.Regions > 0 {
			share := float64(100*float64(*c.LostRows)) / float64(*c.Rows+*c.LostRows)
			fmt.Fprintf(w, "; %s rows (%.2f %%) are lost", numbers.Count(*c.LostRows), share)
			if *c.Regions > 0 {
				fmt.Fprintf(w, ", and all of %s", numbers.Plural(int(*c.Regions), "location"))
			}
		}
		fmt.Fprintln(w)
	}
	if x := c.Compared; x != nil {
		fmt.Fprintf(w, "compared: %s calls, %s messages (%s with their partner), %s collective calls, %s channels, %s call graphs\n",
			numbers.Count(x.Calls), numbers.Count(x.Messages), numbers.Count(x.Mates), numbers.Count(x.Collectives), numbers.Count(x.Channels), numbers.Count(x.Graphs))
	}
	c.partsText(w, limit)
	for _, n := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", numbers.Clean(n, 400))
	}
	for i := range c.Problems[:min(limit, len(c.Problems))] {
		p := &c.Problems[i]
		array := ""
		if p.Array != "" {
			array = ", " + p.Array
		}
		if p.Row != nil {
			array += fmt.Sprintf(" row %d", *p.Row)
		}
		fmt.Fprintf(w, "%s: %s%s: %s\n", p.Kind, p.where(), array, numbers.Clean(p.Text, 400))
	}
	if n := c.Found - uint64(min(limit, len(c.Problems))); n > 0 {
		fmt.Fprintf(w, "and %s problems more\n", numbers.Count(n))
	}
	if c.Clean {
		_, err := fmt.Fprintln(w, "clean")
		return err
	}
	_, err := fmt.Fprintf(w, "%s found\n", numbers.Plural(int(c.Found), "problem"))
	return err
}

// checkTrace decodes every location of a trace to its end.
func (c *checked) checkTrace(path string, parallel int) error {
	c.Kind = "archive"
	src, err := jobs.OpenPath(path)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, ok := src.(*otf2.Archive); !ok {
		c.Kind = "trace"
	}
	d := src.Definitions()
	c.Locations = d.NumLocations()
	scans, known := make([]scan, d.NumLocations()), definitionsOf(d)
	var g errgroup.Group
	g.SetLimit(parallel)
	all := uint64(0)
	for p := range trace.P(d.NumLocations()) {
		size, err := src.Measure(p)
		if err != nil {
			return err
		}
		scans[p].bytes, scans[p].known, all = size.Bytes, known, all+size.Bytes
	}
	c.meter.Plan([]jobs.Cost{{Stage: "events", Cost: 1}})
	c.stage("events", all)
	for p := range trace.P(d.NumLocations()) {
		g.Go(func() error { return scans[p].run(src, p, c.pass) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	e, brief := &c.envelope, &c.brief
	e.Processes, e.Locations, brief.Resolution = len(d.Processes()), d.NumLocations(), d.Clock().TimerResolution
	var sum trace.Diagnostics
	sum.Merge(d.Problems())
	tasks := 0
	locations := map[trace.Code]uint64{}
	for i := range d.Problems().Codes {
		c.addCode(d, nil, &d.Problems().Codes[i])
	}
	for p := range scans {
		s := &scans[p]
		e.Events += s.events
		if s.tasks {
			tasks++
		}
		c.Bytes += s.bytes
		for i := range s.found.Codes {
			x := &s.found.Codes[i]
			locations[x.Code]++
			c.addCode(d, new(trace.P(p)), x)
		}
		sum.Merge(&s.found)
		if s.events > 0 && (brief.First == nil || s.first < *brief.First) {
			brief.First = &s.first
		}
		if s.events > 0 && (brief.Last == nil || s.last > *brief.Last) {
			brief.Last = &s.last
		}
	}
	if tasks > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("not looked at: whether calls nest once tasks switch, in %s; coppice analyze says it", numbers.Plural(tasks, "location")))
	}
	e.Diagnostics, c.Events = codeTotals(&sum), e.Events
	for i := range e.Diagnostics {
		t := &e.Diagnostics[i]
		t.Locations = locations[t.Code]
		brief.Partial = brief.Partial || t.Code.Severity() == trace.Damage
		if t.Code.Severity() == trace.Note {
			c.Notes = append(c.Notes, CodeText(t.Code, t.Count, t.Locations))
		}
	}
	return nil
}

// addCode lists the first problems of one code. Notes are not problems.
func (c *checked) addCode(d *trace.Definitions, p *trace.P, x *trace.CodeDiagnostics) {
	if x.Code.Severity() == trace.Note {
		return
	}
	c.Found += x.Count
	for _, f := range x.First {
		y := problem{Kind: x.Code.String(), Severity: results.SeverityName(x.Code.Severity()), Count: f.Count, Contradiction: verify.Contradiction{Text: x.Code.Text()}}
		if f.Detail != "" {
			y.Text += ": " + f.Detail
		}
		if p != nil {
			y.at(d, *p)
			if f.Time != 0 || f.Event != 0 {
				y.Event, y.Time = new(f.Event), new(uint64(f.Time))
			}
		}
		c.Problems = append(c.Problems, y)
	}
}

// scan decodes one location and checks what it can judge alone: order of times, nesting of calls, references to definitions, the
// announced number of events.
type scan struct {
	events, bytes uint64
	first, last   uint64
	found         trace.Diagnostics
	defs          *trace.Definitions
	known         *definitions
	stack         []uint32
	tasks         bool // each task has a stack of its own: from the first switch on, calls are not checked
	pass          func(bytes uint64)
	announced     uint64 // number of events; 0: not known
	passed        uint64 // bytes
}

func (s *scan) run(src trace.Source, p trace.P, pass func(bytes uint64)) error {
	s.defs, s.pass = src.Definitions(), pass
	if n := s.defs.Location(p).Events; n != trace.Undefined64 {
		s.announced = n
	}
	if err := otf2.EachBatch(src, p, &s.found, s.batch); err != nil {
		return err
	}
	for _, region := range s.stack {
		s.add(trace.DiagOpenCall, "region %d", region)
	}
	if want := s.defs.Location(p).Events; want != s.events && want != trace.Undefined64 {
		s.add(trace.DiagEventCount, "%d events, the definitions announce %d", s.events, want)
	}
	s.stack = nil
	pass(s.bytes - s.passed)
	return nil
}

func (s *scan) add(code trace.Code, format string, args ...any) {
	s.found.Add(trace.Diagnostic{Code: code, Time: trace.Time(s.last), Event: s.events, Detail: fmt.Sprintf(format, args...)})
}

func (s *scan) batch(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		at := uint64(e.Time)
		switch {
		case s.events == 0:
			s.first = at
		case at < s.last:
			s.add(trace.DiagTimeBackwards, "tick %d after %d", at, s.last)
		}
		s.last = max(s.last, at)
		switch e.Kind {
		case trace.Enter:
			s.region(e.Ref)
			if !s.tasks {
				s.stack = append(s.stack, e.Ref)
			}
		case trace.Leave:
			s.leave(e.Ref)
		case trace.ThreadTaskSwitch, trace.OmpTaskSwitch:
			s.tasks, s.stack = true, nil
			s.references(b, e)
		default:
			s.references(b, e)
		}
		s.events++
	}
	if s.announced > 0 { // events have about equal sizes
		now := uint64(float64(s.bytes) * min(1, float64(s.events)/float64(s.announced)))
		s.pass(now - s.passed)
		s.passed = now
	}
	return nil
}

func (s *scan) region(ref uint32) {
	if s.defs.Region(ref) == nil {
		s.add(trace.DiagBadReference, "region %d", ref)
	}
}

func (s *scan) leave(region uint32) {
	s.region(region)
	if s.tasks {
		return
	}
	top := len(s.stack) - 1
	if top < 0 || s.stack[top] != region {
		s.add(trace.DiagStrayLeave, "region %d", region)
		return
	}
	s.stack = s.stack[:top]
}

// definitions has, by kind of reference, a name of the kind and a function that looks up a definition. Other kinds are not
// checked.
type definitions [math.MaxUint8 + 1]struct {
	name string
	has  func(ref uint32) bool
}

func definitionsOf(d *trace.Definitions) *definitions {
	list := &definitions{}
	look := func(kind trace.RefKind, name string, has func(uint32) bool) {
		list[kind].name, list[kind].has = name, has
	}
	look(trace.RefRegion, "region", func(ref uint32) bool { return d.Region(ref) != nil })
	look(trace.RefComm, "communicator", func(ref uint32) bool { return d.CommSize(ref) > 0 || d.IsSelf(ref) })
	look(trace.RefCallingContext, "calling context", func(ref uint32) bool {
		_, ok := d.ContextRegion(ref)
		return ok
	})
	metrics := listed(d.MetricClasses, func(x *trace.MetricClass) uint32 { return x.Ref })
	instances := listed(d.MetricInstances, func(x *trace.MetricInstance) uint32 { return x.Ref })
	look(trace.RefMetric, "metric", func(ref uint32) bool { return metrics(ref) || instances(ref) })
	look(trace.RefParameter, "parameter", listed(d.Parameters, func(x *trace.Parameter) uint32 { return x.Ref }))
	look(trace.RefRmaWin, "window", listed(d.RmaWins, func(x *trace.RmaWin) uint32 { return x.Ref }))
	look(trace.RefIoHandle, "file handle", listed(d.IoHandles, func(x *trace.IoHandle) uint32 { return x.Ref }))
	look(trace.RefGroup, "group", listed(d.Groups, func(x *trace.Group) uint32 { return x.Ref }))
	look(trace.RefInterruptGenerator, "interrupt generator", listed(d.InterruptGenerators, func(x *trace.InterruptGenerator) uint32 { return x.Ref }))
	return list
}

// listed returns a function that reports whether a reference is in the list.
func listed[T any](list []T, refOf func(*T) uint32) (has func(ref uint32) bool) {
	refs := make(map[uint32]bool, len(list))
	for i := range list {
		refs[refOf(&list[i])] = true
	}
	return func(ref uint32) bool { return refs[ref] }
}

// references checks that the definitions exist to which a record refers.
func (s *scan) references(b *trace.Batch, e *trace.Event) {
	fields, _, _, _ := b.Layout(e)
	for i, f := range e.Kind.Info().Fields[:min(len(fields), len(e.Kind.Info().Fields))] {
		ref := uint32(fields[i])
		if x := &s.known[f.Ref]; x.has != nil && ref != trace.Undefined && !x.has(ref) {
			s.add(trace.DiagBadReference, "%s %d", x.name, ref)
		}
	}
}

// part is a readable region of a file that does not open. Its location is known by its ordinal, because the definitions with the
// names are not readable.
type part struct {
	Ordinal *uint32     `json:"ordinal"` // of the location, null for the whole run
	Offset  int64       `json:"offset"`
	Arrays  []partArray `json:"arrays"`
}

type partArray struct {
	Name     string `json:"name"`
	Rows     uint64 `json:"rows"`
	Readable uint64 `json:"readable"`
}

// salvage lists the readable parts of a file that does not open, for the reason why. It reports whether there are any.
func (c *checked) salvage(path string, why error) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	res, err := xtf.Salvage(f, st.Size())
	if err != nil {
		return false
	}
	c.Kind, c.brief.Partial = "incomplete run", true
	c.add(problem{Kind: "file", Severity: "damage", Count: 1, Contradiction: verify.Contradiction{Text: why.Error()}})
	c.read(&res.CheckResult)
	c.Readable = []part{}
	for _, x := range res.Parts {
		p := part{Offset: x.Offset, Arrays: []partArray{}}
		if x.P != xtf.WholeRun {
			p.Ordinal = new(uint32(x.P))
		}
		for _, a := range x.Arrays {
			p.Arrays = append(p.Arrays, partArray{a.Name, a.Rows, a.Readable})
			if a.Type == xtf.TypeDirectory {
				c.Notes = append(c.Notes, fmt.Sprintf("the directory is there, with %s of %s rows: %s", numbers.Count(a.Readable), numbers.Count(a.Rows), numbers.Plural(int(a.Rows-1), "location")))
			}
		}
		c.Readable = append(c.Readable, p)
		if p.Ordinal != nil {
			c.Locations++
		}
	}
	if n := res.Regions - uint64(len(res.Parts)); n > 0 {
		c.Notes = append(c.Notes, numbers.Count(n)+" regions more are there, and not listed")
	}
	for _, p := range res.Problems {
		c.Problems = append(c.Problems, pageProblem(nil, nil, p))
	}
	return true
}

// partsText prints the readable parts, a line for each region.
func (c *checked) partsText(w io.Writer, limit int) {
	for i := range c.Readable[:min(limit, len(c.Readable))] {
		p := &c.Readable[i]
		where := "whole run"
		if p.Ordinal != nil {
			where = fmt.Sprintf("location with ordinal %d", *p.Ordinal)
		}
		arrays := make([]string, len(p.Arrays))
		for k, a := range p.Arrays {
			arrays[k] = fmt.Sprintf("%s %s of %s rows", numbers.Clean(a.Name, 40), numbers.Count(a.Readable), numbers.Count(a.Rows))
		}
		if len(arrays) == 0 {
			arrays = []string{"no rows"}
		}
		fmt.Fprintf(w, "readable: %s, at byte %d: %s\n", where, p.Offset, strings.Join(arrays, ", "))
	}
	if n := len(c.Readable) - limit; n > 0 {
		fmt.Fprintf(w, "and %s more\n", numbers.Plural(n, "region"))
	}
}
