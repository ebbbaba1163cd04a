package otf2

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/coppice-hpc/coppice/trace"
)

// defReader is the reading Visitor of definition records. Its cursor covers
// one record's payload: fields of later versions may be missing at the end.
type defReader struct {
	cursor
	kind trace.DefKind
}

func (r *defReader) Reading() bool { return true }

// absent reports whether the record ended before this field. Only fields that
// later versions appended may be absent.
func (r *defReader) absent(name string) bool {
	if r.state != fine {
		return true
	}
	if r.left() > 0 {
		return false
	}
	if !optional(r.kind, name) {
		r.state = short
	}
	return true
}

// optional reports whether a field came with a later version of the format.
func optional(k trace.DefKind, name string) bool {
	switch k {
	case trace.DefClockProperties:
		return name == "realtime_timestamp"
	case trace.DefAttribute:
		return name == "description"
	case trace.DefLocationGroup:
		return name == "creating_location_group"
	case trace.DefRegion:
		return name == "canonical_name" || name == "region_role" || name == "paradigm" || name == "region_flags"
	case trace.DefGroup:
		return name == "group_type" || name == "paradigm" || name == "group_flags"
	case trace.DefMetricClass:
		return name == "recorder_kind"
	case trace.DefComm, trace.DefRmaWin:
		return name == "flags"
	case trace.DefSystemTreeNodeProperty, trace.DefLocationGroupProperty, trace.DefLocationProperty:
		return name == "value"
	}
	return false
}

func (r *defReader) Field(name string, field any, _ trace.RefKind) {
	if r.absent(name) {
		return
	}
	switch v := field.(type) {
	case *uint8:
		*v = r.u8()
	case *uint32:
		*v = r.v32()
	case *uint64:
		*v = r.v64()
	case *int64:
		*v = int64(r.v64())
	case *string:
		*v = r.str()
	case *trace.Value:
		v.Type = trace.ValueType(r.u8())
		v.Bits = r.value(v.Type)
	}
}

func (r *defReader) Count(name string, _ int, w trace.Width) int {
	if r.absent(name) {
		return 0
	}
	var n uint64
	if w == trace.U8 {
		n = uint64(r.u8())
	} else {
		n = uint64(r.v32())
	}
	if n > uint64(r.left()) { // every element has a byte at least
		r.fail()
		return 0
	}
	return int(n)
}

// definitions reads the definition file. Damaged records are left out and
// reported; damage of the framing ends the reading.
func definitions(file string, a *Anchor, data []byte) (*trace.Definitions, error) {
	if err := recognise(file, data); err != nil {
		return nil, err
	}
	path := file
	file = filepath.Base(path) // diagnostics do not depend on where the archive lies
	l := globalReader{file: file, defs: &trace.Definitions{}, scratch: &trace.Definitions{}}
	p, err := records(bytes.NewReader(data), int64(len(data)), int64(a.DefChunk), l.record)
	if err != nil {
		return nil, fmt.Errorf("otf2: %s: %w", path, err)
	}
	if p != nil {
		if l.count == 0 {
			return nil, fmt.Errorf("otf2: %s: byte %d: %s: %w", path, p.offset, p.what, trace.ErrCorrupt)
		}
		l.problems.Add(p.describe(trace.DiagBadDefinition, file))
	}
	if l.count != a.Definitions {
		l.problems.Add(trace.Diagnostic{
			Code: trace.DiagBadDefinition, Count: 1,
			Detail: fmt.Sprintf("%s: %d definitions, the anchor file announces %d", file, l.count, a.Definitions),
		})
	}
	if n := uint64(len(l.defs.Locations)); n != a.Locations {
		l.problems.Add(trace.Diagnostic{
			Code: trace.DiagBadDefinition, Count: 1,
			Detail: fmt.Sprintf("%s: %d locations, the anchor file announces %d", file, n, a.Locations),
		})
	}
	l.defs.Seal()
	l.defs.Problems().AddAll(l.problems.List())
	return l.defs, nil
}

// globalReader collects the records of the definition file.
type globalReader struct {
	file     string
	defs     *trace.Definitions
	count    uint64
	problems trace.Diagnostics

	scratch *trace.Definitions // a record of each kind to try the payload on
	trial   [256]trace.Record
}

func (l *globalReader) record(id uint8, at int64, c *cursor) {
	l.count++
	k := trace.DefKind(id)
	if l.trial[k] == nil {
		l.trial[k] = l.scratch.Add(k)
	}
	if l.trial[k] == nil {
		l.add(trace.DiagUnknownRecord, at, fmt.Sprintf("definition record of unknown kind %d, %d bytes", id, c.left()))
		return
	}
	r := defReader{cursor: *c, kind: k}
	l.trial[k].Visit(&r)
	if r.state != fine {
		l.add(trace.DiagBadDefinition, at, fmt.Sprintf("damaged definition record of kind %d", id))
		return
	}
	if r.left() > 0 {
		l.add(trace.DiagSurplus, at, fmt.Sprintf("%d more bytes in a definition record of kind %d", r.left(), id))
	}
	r = defReader{cursor: *c, kind: k}
	l.defs.Add(k).Visit(&r)
}

func (l *globalReader) add(code trace.Code, at int64, what string) {
	l.problems.Add(trace.Diagnostic{Code: code, Count: 1, Detail: fmt.Sprintf("%s: byte %d: %s", l.file, at, what)})
}
