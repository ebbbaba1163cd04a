package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/paraver"
	"github.com/coppice-hpc/coppice/trace/receivelog"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Kind is what a file is.
type Kind int

// Kinds of files.
const (
	KindTrace  Kind = iota // a directory or an anchor file of an archive too
	KindRun                // XTF file
	KindStatus             // status file of a job
	KindLog                // receive log
)

// Recognise looks at the content of a file; directories are archives. It
// returns the first bytes of the file.
func Recognise(path string) (Kind, []byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, nil, err
	}
	if st.IsDir() {
		return KindTrace, nil, nil
	}
	if !st.Mode().IsRegular() {
		return 0, nil, fmt.Errorf("%s: neither a file nor a directory: %w", path, trace.ErrNotTrace)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	head := make([]byte, xtf.SuperblockSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("\x89XTF")), strings.HasSuffix(path, ".xtf"),
		len(head) == xtf.SuperblockSize && len(bytes.Trim(head, "\x00")) == 0: // a result whose superblock is not written yet
		return KindRun, head, nil
	case receivelog.Recognise(head):
		return KindLog, head, nil
	case bytes.Contains(head, []byte(`"`+jobs.StatusSchema+`"`)):
		return KindStatus, head, nil
	}
	return KindTrace, head, nil
}

// Measured describes a trace, and what its analysis needs.
type Measured struct {
	Kind         string              `json:"kind"`
	Format       string              `json:"format"`
	Creator      string              `json:"creator"`
	Machine      string              `json:"machine"`
	Description  string              `json:"description"`
	BigEndian    bool                `json:"big_endian"`
	Locations    trace.LocationTypes `json:"locations"`
	Definitions  definitionCounts    `json:"definitions"`
	DefBytes     int                 `json:"definition_bytes"`  // in memory, encoded
	Bytes        uint64              `json:"bytes"`             // of events
	Announced    uint64              `json:"announced_events"`  // by the definitions
	Records      *recordCounts       `json:"records,omitempty"` // of a Paraver trace
	Missing      int                 `json:"locations_without_data"`
	Largest      uint64              `json:"largest_location"`
	LargestBytes uint64              `json:"largest_location_bytes"`
	LeastMemory  int64               `json:"least_memory_per_rank"`
	GraphMemory  int64               `json:"least_memory_per_rank_events_none"`
	Ranks        int                 `json:"useful_ranks"`
	Disk         uint64              `json:"disk"`
}

// recordCounts are the lines of a Paraver trace.
type recordCounts struct {
	States         uint64 `json:"states"`
	Events         uint64 `json:"events"`
	Communications uint64 `json:"communications"`
}

// Trace describes a trace.
func Trace(path string) (*results.Answer, error) {
	src, err := jobs.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	x, err := Measure(src)
	if err != nil {
		return nil, err
	}
	d := src.Definitions()
	r := &results.Answer{
		Envelope: results.Envelope{Processes: len(d.Processes()), Locations: d.NumLocations(), Events: x.Announced, Diagnostics: codeTotals(d.Problems())},
		Brief:    &results.Brief{Resolution: d.Clock().TimerResolution}, Value: x,
	}
	if length := d.Clock().TraceLength; length > 0 {
		r.Brief.First, r.Brief.Last = new(uint64(0)), &length
	}
	r.Text = func(w io.Writer, _ int) error { return x.text(w, path, &r.Envelope, r.Brief) }
	return r, nil
}

// Measure measures a trace.
func Measure(src trace.Source) (*Measured, error) {
	d := src.Definitions()
	x := &Measured{Kind: "trace", Format: src.Format(), Locations: trace.CountLocations(d), Definitions: countDefinitions(d)}
	switch src := src.(type) {
	case *otf2.Archive:
		a := src.Anchor()
		x.Creator, x.Machine, x.Description, x.BigEndian = a.Creator, a.Machine, a.Description, a.BigEndian
	case *paraver.Trace:
		x.Records = &recordCounts{}
		x.Records.States, x.Records.Events, x.Records.Communications = src.Records()
		x.Description = "written " + src.Date()
	}
	x.DefBytes = d.BinarySize()
	var longest uint64 // in events
	for p := range trace.P(d.NumLocations()) {
		size, err := src.Measure(p)
		if err != nil {
			return nil, err
		}
		longest = max(longest, size.Events)
		l := d.Location(p)
		if l.Events != trace.Undefined64 {
			x.Announced += l.Events
		}
		x.Bytes += size.Bytes
		if size.Bytes == 0 && l.Events > 0 && x.Records == nil {
			x.Missing++
		}
		if size.Bytes > x.LargestBytes {
			x.Largest, x.LargestBytes = l.Ref, size.Bytes
		}
	}
	need := jobs.NeedOf(x.Bytes, x.LargestBytes, longest, d.NumLocations(), jobs.DefinitionsMemory(d))
	x.LeastMemory, x.GraphMemory, x.Ranks, x.Disk = need.LeastMemory, need.GraphMemory, need.Ranks, need.Disk
	return x, nil
}

func (x *Measured) text(w io.Writer, path string, e *results.Envelope, b *results.Brief) error {
	rows := [][]string{
		{"format", x.Format + when(x.BigEndian, ", big-endian") + when(x.Creator != "", ", written by %s", numbers.Clean(x.Creator, 80))},
		{"processes", numbers.Count(uint64(e.Processes))},
		{"locations", locationText(x.Locations, e.Locations)},
		{"events", x.eventText()},
		{"bytes", numbers.Bytes(x.Bytes) + " of events, " + numbers.Bytes(uint64(x.DefBytes)) + " of definitions"},
		{"definitions", definitionText(x.Definitions)},
		{"span", spanText(b)},
		{"clock", clockText(b.Resolution)},
		{"largest", when(x.LargestBytes > 0, "location %d, %s (%.1f %% of all)", x.Largest, numbers.Bytes(x.LargestBytes), float64(100*x.LargestBytes)/float64(x.Bytes))},
		{"missing", when(x.Missing > 0, "no events of %s, for which the definitions announce some: the result will be partial", numbers.Plural(x.Missing, "location"))},
		{"to analyze", fmt.Sprintf("useful ranks: up to %d; least memory per rank: %s (%s with --events none); disk: up to %s", x.Ranks, numbers.Binary(x.LeastMemory), numbers.Binary(x.GraphMemory), numbers.Bytes(x.Disk))},
	}
	for _, c := range e.Diagnostics {
		rows = append(rows, []string{"problem", fmt.Sprintf("%s: %d", c.Code.Text(), c.Count)})
	}
	return table.WriteFacts(w, path, append(rows, []string{"description", numbers.Clean(x.Description, 200)}))
}

// eventText prints the number of events, as far as it is known.
func (x *Measured) eventText() string {
	if r := x.Records; r != nil {
		return fmt.Sprintf("%s, %s, %s", numbers.Plural(int(r.Events), "event record"), numbers.Plural(int(r.Communications), "message"), numbers.Plural(int(r.States), "state"))
	}
	return numbers.Count(x.Announced) + " announced by the definitions"
}

// when formats a text if so is true; else it is empty.
func when(so bool, format string, args ...any) string {
	if !so {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// spanText prints the time from the first to the last event, "" if it is not known.
func spanText(b *results.Brief) string {
	if b.Last == nil {
		return ""
	}
	return numbers.UnitsOf(b.Resolution).Time(*b.Last - min(*b.First, *b.Last))
}

func clockText(resolution uint64) string {
	if resolution == 0 {
		return "resolution not known: times are ticks"
	}
	return numbers.Count(resolution) + " ticks per second"
}

// numbered is a number of things.
type numbered struct {
	n    int
	what string
}

// partsText prints a number and the parts that it consists of.
func partsText(all int, list []numbered) string {
	var parts []string
	for _, x := range list {
		if x.n > 0 {
			parts = append(parts, numbers.Plural(x.n, x.what))
		}
	}
	return fmt.Sprintf("%s: %s", numbers.Count(uint64(all)), strings.Join(parts, ", "))
}

func locationText(t trace.LocationTypes, all int) string {
	return partsText(all, []numbered{{t.CPU, "CPU thread"}, {t.Accelerator, "accelerator stream"}, {t.Metric, "metric recorder"}, {t.Other, "location of another kind"}})
}

func definitionText(c definitionCounts) string {
	return partsText(c.All, []numbered{
		{c.Regions, "region"},
		{c.Communicators, "communicator"},
		{c.Strings, "string"},
		{c.Groups, "group"},
		{c.Metrics, "metric"},
		{c.Windows, "RMA window"},
		{c.Contexts, "calling context"},
		{c.Handles, "I/O handle"},
	})
}

// runContent describes an XTF file.
type runContent struct {
	Kind string `json:"kind"`
	Rest string `json:"rest,omitempty"` // files of a run next to the result
	*content
}

// restOf says which files of a run are next to a result.
func restOf(path string) string {
	host, _ := os.Hostname()
	return xtfwriter.Rest(path, host)
}

// Run describes a result.
func Run(run *results.Run) (*results.Answer, error) {
	c, err := newContent(run)
	if err != nil {
		return nil, err
	}
	var r *results.Answer
	r, err = results.NewAnswer(run, runContent{"run", restOf(run.Path), c}, func(w io.Writer, _ int) error { return runText(w, run.Path, &r.Envelope, r.Brief, c) })
	return r, err
}

func runText(w io.Writer, path string, e *results.Envelope, b *results.Brief, c *content) error {
	rows := [][]string{
		{"format", c.Format + ", written by " + tool(b.Provenance)},
		{"processes", numbers.Count(uint64(e.Processes))},
		{"locations", locationText(c.Locations, e.Locations)},
		{"events", numbers.Count(e.Events)},
		{"bytes", numbers.Bytes(uint64(c.Bytes))},
		{"kept", keptText(c)},
		{"definitions", definitionText(c.Definitions)},
		{"span", spanText(b)},
		{"clock", clockText(b.Resolution)},
		{"identity", c.ID},
		{"partial", when(b.Partial, "the input was damaged or incomplete; coppice report %s diagnostics", path)},
		{"left over", numbers.Clean(restOf(path), 400)},
	}
	for _, d := range e.Diagnostics {
		rows = append(rows, []string{"found", CodeText(d.Code, d.Count, d.Locations)})
	}
	if err := table.WriteFacts(w, path, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return table.WriteText(numbers.Units{}, w, len(c.Arrays), nil, func(p *table.Chapter) {
		rows := &table.Table{Columns: []table.Column{table.Words("rows", ""), table.Ints("arrays", ""), table.Ints("rows", ""), table.Ints("stored", ""), table.Reals("bytes/row", "")}}
		for _, a := range c.Arrays {
			rows.Add(table.Word(a.Type), table.Number(a.Arrays), table.Number(a.Rows), table.Size(a.Bytes), table.Quotient(numbers.NewRatio(a.Bytes, a.Rows), 2))
		}
		p.Table(rows)
		sections := &table.Table{Columns: []table.Column{table.Words("sections", ""), table.Ints("parts", ""), table.Ints("bytes", "")}}
		for _, s := range c.Sections {
			if s.Parts > 0 {
				sections.Add(table.Word(s.Name), table.Number(s.Parts), table.Size(s.Bytes))
			}
		}
		p.Table(sections)
	})
}

// keptText says which data about events are in the file, and how exact they are.
func keptText(c *content) string {
	text := "call graph and rows of events"
	if !c.Rows {
		text = "call graph alone (--events none)"
	}
	if c.Bound == nil {
		return text + ", exact"
	}
	if c.Rows {
		return text + "; rows exact, graph: " + c.Bound.Text
	}
	return text + ": " + c.Bound.Text
}

// tool returns the name of the program in the provenance.
func tool(provenance json.RawMessage) string {
	p := results.ParseProvenance(provenance)
	if p.Tool == "" {
		return "an unknown program"
	}
	return numbers.Clean(fmt.Sprintf("%s (format %s, from %s)", p.Tool, p.Format, p.Kind), 200)
}

// CodeText says how often a problem was found.
func CodeText(c trace.Code, count, locations uint64) string {
	return fmt.Sprintf("%s: %d in %s", c.Text(), count, numbers.Locations(locations))
}

// codeTotals lists the problems outside of locations.
func codeTotals(ds *trace.Diagnostics) []results.CodeTotal {
	list := []results.CodeTotal{}
	for i := range ds.Codes {
		list = append(list, results.CodeTotal{Code: ds.Codes[i].Code, Count: ds.Codes[i].Count, Worst: ds.Codes[i].Worst})
	}
	return list
}

// logContent describes a receive log.
type logContent struct {
	Kind      string        `json:"kind"`
	Library   string        `json:"mpi_library"`
	Rank      int           `json:"rank"`
	Size      int           `json:"size"`
	Host      string        `json:"host"`
	Program   string        `json:"program"`
	Arguments []string      `json:"arguments"`
	Calls     uint64        `json:"calls"`
	Payload   uint64        `json:"payload_bytes"`
	Stored    uint64        `json:"stored_payload_bytes"`
	Bytes     int64         `json:"bytes"`
	Wtime     bool          `json:"wtime"`
	Complete  bool          `json:"complete"`
	End       string        `json:"end"`
	Unlogged  uint64        `json:"receives_without_data"`
	Refused   []string      `json:"not_replayable"`
	Functions []logFunction `json:"functions"`
}

type logFunction struct {
	Name    string `json:"name"`
	Calls   uint64 `json:"calls"`
	Payload uint64 `json:"payload_bytes"`
}

// openLog reads a receive log to its end.
func openLog(path string) (*logContent, error) {
	r, err := receivelog.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s, err := receivelog.Summarise(r)
	if err != nil {
		return nil, err
	}
	h := s.Header
	x := &logContent{
		Kind: "receive_log", Library: h.Library, Rank: h.Rank, Size: h.Size, Host: h.Host, Program: h.Program, Arguments: h.Args,
		Calls: s.Calls, Payload: s.Payload, Stored: s.Stored, Bytes: r.Size(), Wtime: h.Wtime, End: "cut: the process was killed, or the disk was full",
		Refused: append([]string{}, s.Refused...), Functions: []logFunction{},
	}
	if s.End != nil {
		x.Complete, x.End, x.Unlogged = s.End.Reason.Whole(), s.End.Reason.String(), s.End.Unlogged
	}
	for _, c := range s.Functions {
		x.Functions = append(x.Functions, logFunction{"MPI_" + c.Name, c.Calls, c.Payload})
	}
	return x, nil
}

// Log describes a receive log.
func Log(path string) (*results.Answer, error) {
	x, err := openLog(path)
	if err != nil {
		return nil, err
	}
	return &results.Answer{Brief: &results.Brief{}, Value: x, Text: func(w io.Writer, _ int) error { return x.text(w, path) }}, nil
}

func (x *logContent) text(w io.Writer, path string) error {
	rows := [][]string{
		{"receive log", fmt.Sprintf("rank %d of %d on %s, %s", x.Rank, x.Size, numbers.Clean(x.Host, 80), numbers.Bytes(uint64(x.Bytes)))},
		{"command", numbers.Clean(strings.Join(x.Arguments, " "), 300)},
		{"program", numbers.Clean(x.Program, 300)},
		{"MPI", numbers.Clean(x.Library, 100)},
		{"calls", numbers.Count(x.Calls)},
		{"received", fmt.Sprintf("%s, of which %s had come before", numbers.Bytes(x.Payload), numbers.Bytes(x.Payload-min(x.Stored, x.Payload)))},
		{"end", x.End},
		{"without data", when(x.Unlogged > 0, "%s receives whose request was freed", numbers.Count(x.Unlogged))},
		{"not replayable", when(len(x.Refused) > 0, "MPI_%s", strings.Join(x.Refused, ", MPI_"))},
	}
	if err := table.WriteFacts(w, path, rows); err != nil {
		return err
	}
	rows = nil
	for _, f := range x.Functions {
		rows = append(rows, []string{f.Name, numbers.Count(f.Calls), numbers.Bytes(f.Payload)})
	}
	fmt.Fprintln(w)
	return table.WriteTable(w, []string{"<function", "calls", "received"}, rows)
}

// Status describes the state of a job, from its status file.
func Status(path string, b []byte) (*results.Answer, error) {
	var st jobs.Status
	if err := json.Unmarshal(bytes.TrimSpace(b), &st); err != nil {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: a status file that cannot be read: %w. Wait for the job to write it again", path, err))
	}
	v := struct {
		Kind string `json:"kind"`
		jobs.Status
	}{"status", st}
	return &results.Answer{Brief: &results.Brief{}, Value: v, Text: func(w io.Writer, _ int) error {
		return table.WriteFacts(w, path, [][]string{
			{"state", numbers.Clean(st.State, 300)},
			{"stage", fmt.Sprintf("%s, %.0f %%", numbers.Clean(st.Stage, 40), 100*st.Share)},
			{"at", numbers.Clean(st.Time, 40)},
			{"bytes", when(st.Total > 0, "%s of %s, %s/s", numbers.Bytes(st.Done), numbers.Bytes(st.Total), numbers.Bytes(st.Rate))},
			{"ranks", when(st.Ranks > 0, "%d, slowest: rank %d at %.0f %%", st.Ranks, st.Slowest, 100*st.Slow)},
			{"job", when(st.Job > 0, "%.0f %%, about %.0f s left", 100*st.Job, st.JobLeft)},
			{"left", when(st.Left > 0, "about %.0f s in this stage", st.Left)},
		})
	}}, nil
}
