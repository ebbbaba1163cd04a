package interval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits of a sidecar file.
const (
	MaxSidecarBytes = 64 << 20
	MaxGiven        = 1 << 20 // lines
	maxSidecarLine  = 4096
)

// AnyProcess is the Process of an interval of all processes.
const AnyProcess = math.MaxUint32

// Given is an execution of an interval in the sidecar file. Its times count from the origin of the trace.
type Given struct {
	Process    uint32
	Begin, End Length
	Key        Key
}

// ParseSidecar reads a sidecar file (F9): lines
//
//	rank,begin,end,id,name[,file,line]
//
// rank is a process or *. Times count from the first event of the run, in ticks, or with a unit of ParseLength: 1.5ms. A field may be in
// double quotes. It skips empty lines, lines that begin with #, and a first line that begins with "rank". The result is sorted by
// process, then by line. Errors name the line. Memory: 100 bytes for each line, and each name and file once.
func ParseSidecar(b []byte) ([]Given, error) {
	if len(b) > MaxSidecarBytes {
		return nil, fmt.Errorf("intervals file of %d bytes, at most %d are read", len(b), MaxSidecarBytes)
	}
	var list []Given
	known := texts{}
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 || line[0] == '#' || n == 1 && bytes.HasPrefix(line, []byte("rank")) {
			continue
		}
		g, err := parseGiven(line, known)
		if err == nil && len(list) == MaxGiven {
			err = fmt.Errorf("more than %d intervals", MaxGiven)
		}
		if err != nil {
			return nil, fmt.Errorf("intervals file, line %d: %w", n, err)
		}
		list = append(list, g)
	}
	slices.SortStableFunc(list, func(a, b Given) int { return cmp.Compare(a.Process, b.Process) })
	return list, nil
}

// texts keeps one copy of equal texts.
type texts map[string]string

func (t texts) one(s string) string {
	if old, ok := t[s]; ok {
		return old
	}
	s = strings.Clone(s) // so that the line is not kept in memory
	t[s] = s
	return s
}

func parseGiven(line []byte, known texts) (g Given, err error) {
	if len(line) > maxSidecarLine {
		return g, fmt.Errorf("%d bytes, at most %d are read", len(line), maxSidecarLine)
	}
	f, err := fields(string(line))
	if err != nil {
		return g, err
	}
	if len(f) != 5 && len(f) != 7 {
		return g, fmt.Errorf("%d fields; rank,begin,end,id,name or rank,begin,end,id,name,file,line are expected", len(f))
	}
	g.Process = AnyProcess
	if f[0] != "*" {
		p, err := strconv.ParseUint(f[0], 10, 31)
		if err != nil {
			return g, fmt.Errorf("rank %q: a number or * is expected", f[0])
		}
		g.Process = uint32(p)
	}
	if g.Begin, err = parseInstant(f[1]); err != nil {
		return g, fmt.Errorf("begin %q: ticks, or a time with a unit such as 1.5ms, are expected", f[1])
	}
	if g.End, err = parseInstant(f[2]); err != nil {
		return g, fmt.Errorf("end %q: ticks, or a time with a unit such as 1.5ms, are expected", f[2])
	}
	if g.Key.ID, err = strconv.ParseUint(f[3], 10, 64); err != nil {
		return g, fmt.Errorf("id %q: a number is expected", f[3])
	}
	g.Key.Name, g.Key.Form = known.one(f[4]), FormSidecar
	if len(f) == 7 {
		line, err := strconv.ParseUint(f[6], 10, 32)
		if err != nil {
			return g, fmt.Errorf("line %q: a number is expected", f[6])
		}
		g.Key.File, g.Key.Line = known.one(f[5]), uint32(line)
	}
	if g.Begin.Ticks == g.End.Ticks && g.Begin.N > g.End.N {
		return g, fmt.Errorf("end %s before begin %s", f[2], f[1])
	}
	return g, nil
}

func parseInstant(s string) (Length, error) {
	if v, err := strconv.ParseUint(s, 10, 64); err == nil {
		return Length{v, true}, nil
	}
	return ParseLength(s)
}

var errQuote = errors.New("a field in quotes does not end, or has text after it")

// fields splits a line at commas outside of double quotes. Two double quotes in a quoted field stand for one.
func fields(line string) ([]string, error) {
	var list []string
	for {
		field, rest, more := strings.Cut(line, ",")
		if quoted, ok := strings.CutPrefix(line, `"`); ok {
			var b strings.Builder
			for {
				part, after, ok := strings.Cut(quoted, `"`)
				if !ok {
					return nil, errQuote
				}
				b.WriteString(part)
				quoted = after
				if !strings.HasPrefix(after, `"`) {
					break
				}
				b.WriteByte('"')
				quoted = after[1:]
			}
			field = b.String()
			if rest, more = strings.CutPrefix(quoted, ","); !more && quoted != "" {
				return nil, errQuote
			}
		}
		list = append(list, field)
		if !more {
			return list, nil
		}
		line = rest
	}
}
