package tracetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// ErrText is returned for text that is not a trace; it is wrapped with the line.
var ErrText = errors.New("tracetest: invalid text")

// Section returns the lines of a named section of a text: those after a line
// "-- name --" up to the next such line. Text before the first is section "".
func Section(text, name string) string {
	var out strings.Builder
	current := ""
	for line := range strings.Lines(text) {
		if s := sectionName(line); s != "" {
			current = s
			continue
		}
		if current == name {
			out.WriteString(line)
		}
	}
	return out.String()
}

func sectionName(line string) string {
	s, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
	if !ok {
		return ""
	}
	s, ok = strings.CutSuffix(s, " --")
	if !ok {
		return ""
	}
	return strings.TrimSpace(s)
}

// Parse reads a trace in text form. There are two ways to state definitions.
// The section "definitions" has one record a line, with its fields in order;
// fields left out keep their defaults:
//
//	-- definitions --
//	STRING self=0 string="MPI_Barrier"
//	GROUP self=1 number_of_members=2 0 1 group_type=5 paradigm=4
//
// The section "program" is short for what Score-P writes for an MPI program:
//
//	-- program --
//	processes 2
//	threads 1
//	resolution 1000000000
//	comm pair 1 0
//
// It defines MPI_COMM_WORLD (0), MPI_COMM_SELF (1), the communicators listed
// by their processes in rank order (from 2), and each region at its first use
// in an event; names that begin with MPI_ are MPI functions.
//
// Events follow in the section "events", one a line: location, time, kind as
// in event listings, fields in order, elements of lists, attributes:
//
//	-- events --
//	0 100 ENTER MPI_Send
//	0 110 MPI_SEND 1 MPI_COMM_WORLD 7 1024
//	0 120 LEAVE MPI_Send @3:4:99
//
// References are numbers or, for regions and communicators, names; "none" is
// the undefined reference; values of enumerations may be names. Lines of several locations may
// be mixed. "#" begins a comment. Other sections are ignored.
func Parse(text string) (trace.Source, error) {
	p := &parser{defs: &trace.Definitions{}, regions: map[string]uint32{}, comms: map[string]uint32{}, strings: map[string]uint32{}}
	if err := p.lines(text, "definitions", p.definition); err != nil {
		return nil, err
	}
	if err := p.program(text); err != nil {
		return nil, err
	}
	p.index()
	if err := p.lines(text, "events", p.event); err != nil {
		return nil, err
	}
	p.defs.Seal()
	n := p.defs.NumLocations()
	b, err := p.defs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	for len(p.events) < n {
		p.events = append(p.events, &trace.Batch{})
	}
	return &textSource{p.defs, p.events, sha256.Sum256(b)}, nil
}

// textSource is a trace in memory.
type textSource struct {
	defs     *trace.Definitions
	events   []*trace.Batch // of each location
	identity [32]byte
}

func (s *textSource) Definitions() *trace.Definitions { return s.defs }
func (s *textSource) Format() string                  { return "text" }
func (s *textSource) Identity() [32]byte              { return s.identity }
func (s *textSource) Close() error                    { return nil }

func (s *textSource) Measure(p trace.P) (trace.Extent, error) {
	if int(p) >= len(s.events) {
		return trace.Extent{}, fmt.Errorf("tracetest: location %d of %d: %w", p, len(s.events), trace.ErrMissing)
	}
	b := s.events[p]
	if len(b.Events) == 0 {
		return trace.Extent{}, nil
	}
	return trace.Extent{
		Events: uint64(len(b.Events)), Bytes: uint64(24*len(b.Events) + 8*len(b.Args)), Chunks: 1, First: b.Events[0].Time, HasFirst: true,
	}, nil
}

func (s *textSource) Stream(p trace.P) (trace.Stream, error) {
	if int(p) >= len(s.events) {
		return nil, fmt.Errorf("tracetest: location %d of %d: %w", p, len(s.events), trace.ErrMissing)
	}
	events := s.events[p]
	return trace.NewStream(min(len(events.Events), 1), func(int) (trace.ChunkReader, error) {
		done := false
		return trace.Fill(func(b *trace.Batch) error {
			if !done {
				b.Events, b.Args, done = append(b.Events, events.Events...), append(b.Args, events.Args...), true
			}
			return nil
		}), nil
	}), nil
}

// tokens splits a line at spaces; a quoted string is one token with what
// is before it.
func tokens(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			return out, nil
		}
		end := strings.IndexAny(line, " \t\r\n\"")
		if end >= 0 && line[end] == '"' {
			q, err := strconv.QuotedPrefix(line[end:])
			if err != nil {
				return nil, fmt.Errorf("%w: unfinished string", ErrText)
			}
			end += len(q)
		} else if end < 0 {
			end = len(line)
		}
		out = append(out, line[:end])
		line = line[end:]
	}
}
