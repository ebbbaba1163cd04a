package otf2

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// refMap translates local references of one kind to global ones. It leaves references alone that
// the table does not have.
type refMap struct {
	dense  []uint32 // by local reference
	sparse map[uint64]uint64
}

func (m *refMap) at(v uint64) uint64 {
	if v < uint64(len(m.dense)) {
		return uint64(m.dense[v])
	}
	if x, ok := m.sparse[v]; ok {
		return x
	}
	return v
}

// Mapping is one mapping table of a location: pairs of local and global
// references.
type Mapping struct {
	Kind  trace.RefKind
	Pairs [][2]uint64
}

// ClockOffset is one measured offset of a location's clock.
type ClockOffset struct {
	Time      uint64 // raw ticks
	Offset    int64  // ticks to add
	Deviation float64
}

// newRefMap builds the table; it is empty where every pair maps to itself. Memory: 4 bytes for each
// local reference up to the largest if they are dense, else about 40 for each pair.
func newRefMap(kind trace.RefKind, pairs [][2]uint64) refMap {
	same, top, narrow := true, uint64(0), kind != trace.RefLocation
	for i, p := range pairs {
		if kind != trace.RefLocation {
			p[1] = uint64(uint32(p[1]))
			pairs[i] = p
		}
		same = same && p[0] == p[1]
		top = max(top, p[0])
		narrow = narrow && p[0] < trace.Undefined
	}
	var m refMap
	switch {
	case same:
	case narrow && top < uint64(4*len(pairs)+4096):
		m.dense = make([]uint32, top+1)
		for i := range m.dense {
			m.dense[i] = uint32(i)
		}
		for _, p := range slices.Backward(pairs) { // the first of two pairs counts
			m.dense[p[0]] = uint32(p[1])
		}
	default:
		m.sparse = make(map[uint64]uint64, len(pairs))
		for _, p := range slices.Backward(pairs) {
			m.sparse[p[0]] = p[1]
		}
	}
	return m
}

// local holds the local definitions of a location.
type local struct {
	maps  [trace.NumRefKinds]refMap
	clock clock
	diags trace.Diagnostics

	mappings []Mapping
	offsets  []ClockOffset
}

// dense reports whether the references of all frequent records can be looked up by index.
func (l *local) dense() bool {
	return l.maps[trace.RefRegion].sparse == nil && l.maps[trace.RefComm].sparse == nil
}

// Ids of local definition records; all others are those of global ones.
const (
	idMappingTable = 5
	idClockOffset  = 6
)

// openLocation opens the events of location p and reads its local definitions. Where there are no
// events, file and local are nil. The file is nil too where this location has lost its local
// definitions and others have theirs: nobody knows what its references and times mean. Where no
// location has local definitions, the writer left them out or all are lost: references and times
// are taken as they are.
func (a *Archive) openLocation(p trace.P) (f file, size int64, l *local, err error) {
	f, size, err = a.open(a.file(p, ".evt"))
	if f == nil || err != nil {
		return nil, 0, nil, err
	}
	l, err = a.localRecords(a.file(p, ".def"))
	if err == nil && l == nil {
		l = &local{}
		others, err := a.local()
		if others || err != nil {
			f.Close()
			l.add(trace.DiagMissingLocalDef, "%d.def is not there; the %d bytes of %[1]d.evt are left out", a.defs.Location(p).Ref, size)
			return nil, 0, l, err
		}
		l.add(trace.DiagMissingLocalDef, "%d.def is not there, nor that of any other location; references and times are taken as they are", a.defs.Location(p).Ref)
	}
	if err != nil {
		f.Close()
		return nil, 0, nil, err
	}
	return f, size, l, nil
}

// anyLocal looks for a file of local definitions.
func (a *Archive) anyLocal() (bool, error) {
	d, err := os.Open(a.dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("otf2: %w", err)
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(1024)
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".def") && !e.IsDir() {
				return true, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("otf2: %w", err)
		}
	}
}

// localRecords reads mapping tables and clock offsets. Other records live in
// the local reference space and say nothing that the global ones do not. Without a
// file it returns nil.
func (a *Archive) localRecords(path string) (l *local, err error) {
	f, size, err := a.open(path)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	l = &local{}
	name := filepath.Base(path) // diagnostics do not depend on where the archive lies
	p, err := records(f, size, int64(a.anchor.DefChunk), func(id uint8, at int64, c *cursor) {
		switch id {
		case idMappingTable:
			l.mapping(name, at, c)
		case idClockOffset:
			o := ClockOffset{Time: c.raw64(), Offset: int64(c.v64()), Deviation: math.Float64frombits(c.raw64())}
			if c.state != fine {
				l.add(trace.DiagBadLocalDef, "%s: byte %d: clock offset is cut", name, at)
				return
			}
			l.offsets = append(l.offsets, o)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("otf2: %s: %w", path, err)
	}
	if p != nil {
		l.diags.Add(p.describe(trace.DiagBadLocalDef, name))
	}
	l.seal(name)
	return l, nil
}

// seal builds the tables from the records.
func (l *local) seal(file string) {
	for _, m := range l.mappings {
		l.maps[m.Kind] = newRefMap(m.Kind, m.Pairs)
	}
	list := make([]offset, len(l.offsets))
	for i, o := range l.offsets {
		list[i] = offset{o.Time, o.Offset}
	}
	var ok bool
	if l.clock, ok = newClock(list); !ok {
		l.add(trace.DiagBadLocalDef, "%s: clock offsets whose times do not increase; those from there on are not used", file)
	}
	if len(list) == 1 && list[0].value != 0 {
		l.add(trace.DiagSingleOffset, "%s", file)
	}
}

func (l *local) add(code trace.Code, format string, args ...any) {
	l.diags.Add(trace.Diagnostic{Code: code, Count: 1, Detail: fmt.Sprintf(format, args...)})
}

// mapping reads a mapping table: type, number of entries, dense or sparse.
func (l *local) mapping(file string, at int64, c *cursor) {
	kind := trace.RefKind(c.u8())
	pairs, ok := idMap(c)
	switch {
	case !ok:
		l.add(trace.DiagBadLocalDef, "%s: byte %d: damaged mapping table", file, at)
	case kind >= trace.NumRefKinds:
		l.add(trace.DiagBadLocalDef, "%s: byte %d: mapping table of unknown type %d", file, at, kind)
	case slices.ContainsFunc(l.mappings, func(m Mapping) bool { return m.Kind == kind }):
		l.add(trace.DiagBadLocalDef, "%s: byte %d: second mapping table of type %d, the first is used", file, at, kind)
	default:
		l.mappings = append(l.mappings, Mapping{kind, pairs})
	}
}

func idMap(c *cursor) ([][2]uint64, bool) {
	n, mode := c.v64(), c.u8()
	width := uint64(1)
	if mode == 1 {
		width = 2
	}
	if c.state != fine || mode > 1 || n > uint64(c.left())/width {
		return nil, false
	}
	pairs := make([][2]uint64, n)
	for i := range pairs {
		key := uint64(i)
		if mode == 1 {
			key = c.v64()
		}
		pairs[i] = [2]uint64{key, c.v64()}
	}
	return pairs, c.state == fine
}
