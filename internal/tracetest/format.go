package tracetest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Format writes a trace in text form, with all definitions and chunk borders.
// Parse reads an equal trace back. The text takes some 40 bytes per event.
func Format(src trace.Source) (string, error) {
	d := src.Definitions()
	f := &formatter{regions: unique(len(d.Regions), func(i int) (uint32, string) { return d.Regions[i].Ref, d.Text(d.Regions[i].Name) })}
	f.b.WriteString("-- definitions --\n")
	d.Each(func(k trace.DefKind, r trace.Record) {
		f.b.WriteString(defNames[k])
		r.Visit((*tokenWriter)(&f.b))
		f.b.WriteByte('\n')
	})
	f.b.WriteString("-- events --\n")
	for p := range trace.P(d.NumLocations()) {
		if err := f.location(src, p); err != nil {
			return "", fmt.Errorf("location %d: %w", p, err)
		}
	}
	return f.b.String(), nil
}

type formatter struct {
	b       strings.Builder
	regions map[uint32]string // references with a plain name of their own
}

// unique maps references to names that need no quotes and occur once.
func unique(n int, item func(i int) (uint32, string)) map[uint32]string {
	seen := map[string]int{}
	for i := range n {
		_, name := item(i)
		seen[name]++
	}
	out := map[uint32]string{}
	for i := range n {
		if ref, name := item(i); seen[name] == 1 && plain(name) {
			out[ref] = name
		}
	}
	return out
}

func plain(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && s != "none"
}

func (f *formatter) location(src trace.Source, p trace.P) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		fmt.Fprintf(&f.b, "%d - CHUNK\n", p)
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for j := range b.Events {
				f.event(p, &b, &b.Events[j])
			}
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (f *formatter) event(p trace.P, b *trace.Batch, e *trace.Event) {
	info := e.Kind.Info()
	fmt.Fprintf(&f.b, "%d %d %s", p, e.Time, info.Label)
	if !e.Kind.Known() {
		fmt.Fprintf(&f.b, "_%d", e.Kind)
	}
	fields, list, _, surplus := b.Layout(e)
	if e.Kind == trace.Enter || e.Kind == trace.Leave {
		if name, ok := f.regions[e.Ref]; ok {
			f.b.WriteString(" " + name)
		} else {
			fmt.Fprintf(&f.b, " %d", e.Ref)
		}
	}
	for i, w := range fields {
		switch {
		case info.Fields[i].Width == trace.U32 && w == trace.Undefined:
			f.b.WriteString(" none")
		case info.Fields[i].Width == trace.S64:
			fmt.Fprintf(&f.b, " %d", int64(w))
		default:
			fmt.Fprintf(&f.b, " %d", w)
		}
	}
	for _, w := range list {
		fmt.Fprintf(&f.b, " %d", w)
	}
	for _, a := range b.Attributes(nil, e) {
		fmt.Fprintf(&f.b, " @%d:%d:%d", a.Ref, a.Type, a.Value)
	}
	if len(surplus) > 1 {
		raw := make([]byte, surplus[0])
		for i := range raw {
			raw[i] = byte(surplus[1+i/8] >> (8 * (i % 8)))
		}
		f.b.WriteString(" +" + hex.EncodeToString(raw))
	}
	f.b.WriteByte('\n')
}

// tokenWriter writes the fields of a definition; list elements have no name.
type tokenWriter strings.Builder

func (w *tokenWriter) put(name, value string) {
	b := (*strings.Builder)(w)
	b.WriteByte(' ')
	if name != "" {
		b.WriteString(name + "=")
	}
	b.WriteString(value)
}

func (w *tokenWriter) Reading() bool            { return false }
func (w *tokenWriter) U8(name string, v *uint8) { w.put(name, strconv.FormatUint(uint64(*v), 10)) }
func (w *tokenWriter) U32(name string, v *uint32, _ trace.RefKind) {
	w.put(name, strconv.FormatUint(uint64(*v), 10))
}

func (w *tokenWriter) U64(name string, v *uint64, _ trace.RefKind) {
	w.put(name, strconv.FormatUint(*v, 10))
}
func (w *tokenWriter) S64(name string, v *int64)     { w.put(name, strconv.FormatInt(*v, 10)) }
func (w *tokenWriter) String(name string, v *string) { w.put(name, strconv.Quote(*v)) }
func (w *tokenWriter) Value(name string, v *trace.Value) {
	w.put(name, fmt.Sprintf("%d:%d", v.Type, v.Bits))
}

func (w *tokenWriter) Count(name string, n int, _ trace.Width) int {
	w.put(name, strconv.Itoa(n))
	return n
}

// tokenReader reads what tokenWriter wrote. A named field that is not next
// keeps its default.
type tokenReader struct {
	rest []string
	err  error
}

// take returns the value of the next token if it belongs to the named field.
func (r *tokenReader) take(name string) (string, bool) {
	if len(r.rest) == 0 || r.err != nil {
		return "", false
	}
	value := r.rest[0]
	if name != "" {
		v, ok := strings.CutPrefix(value, name+"=")
		if !ok {
			return "", false
		}
		value = v
	}
	r.rest = r.rest[1:]
	return value, true
}

func (r *tokenReader) number(name string, limit uint64) (uint64, bool) {
	s, ok := r.take(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		r.err = fmt.Errorf("%w: %s: number %q", ErrText, name, s)
		return 0, false
	}
	return n, true
}

func (r *tokenReader) Reading() bool { return true }

func (r *tokenReader) U8(name string, v *uint8) {
	if n, ok := r.number(name, math.MaxUint8); ok {
		*v = uint8(n)
	}
}

func (r *tokenReader) U32(name string, v *uint32, _ trace.RefKind) {
	if n, ok := r.number(name, math.MaxUint32); ok {
		*v = uint32(n)
	}
}

func (r *tokenReader) U64(name string, v *uint64, _ trace.RefKind) {
	if n, ok := r.number(name, math.MaxUint64); ok {
		*v = n
	}
}

func (r *tokenReader) S64(name string, v *int64) {
	s, ok := r.take(name)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.err = fmt.Errorf("%w: %s: number %q", ErrText, name, s)
	}
	*v = n
}

func (r *tokenReader) String(name string, v *string) {
	s, ok := r.take(name)
	if !ok {
		return
	}
	q, err := strconv.Unquote(s)
	if err != nil {
		r.err = fmt.Errorf("%w: %s: string %s", ErrText, name, s)
	}
	*v = q
}

func (r *tokenReader) Value(name string, v *trace.Value) {
	s, ok := r.take(name)
	if !ok {
		return
	}
	t, bits, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(t, 10, 8)
	if err == nil {
		v.Type = trace.ValueType(n)
		v.Bits, err = strconv.ParseUint(bits, 10, 64)
	}
	if err != nil {
		r.err = fmt.Errorf("%w: %s: value %q", ErrText, name, s)
	}
}

func (r *tokenReader) Count(name string, _ int, _ trace.Width) int {
	n, ok := r.number(name, math.MaxUint32)
	if ok && n > uint64(len(r.rest)) {
		r.err = fmt.Errorf("%w: list of %d elements, %d follow", ErrText, n, len(r.rest))
		return 0
	}
	return int(n)
}

// defNames are the names of definition records, as in OTF2's listings.
var defNames = map[trace.DefKind]string{
	trace.DefClockProperties: "CLOCK_PROPERTIES", trace.DefParadigm: "PARADIGM", trace.DefParadigmProperty: "PARADIGM_PROPERTY",
	trace.DefIoParadigm: "IO_PARADIGM", trace.DefString: "STRING", trace.DefAttribute: "ATTRIBUTE",
	trace.DefSystemTreeNode: "SYSTEM_TREE_NODE", trace.DefLocationGroup: "LOCATION_GROUP", trace.DefLocation: "LOCATION",
	trace.DefRegion: "REGION", trace.DefCallsite: "CALLSITE", trace.DefCallpath: "CALLPATH", trace.DefGroup: "GROUP",
	trace.DefMetricMember: "METRIC_MEMBER", trace.DefMetricClass: "METRIC_CLASS", trace.DefMetricInstance: "METRIC_INSTANCE",
	trace.DefComm: "COMM", trace.DefParameter: "PARAMETER", trace.DefRmaWin: "RMA_WIN",
	trace.DefMetricClassRecorder: "METRIC_CLASS_RECORDER", trace.DefSystemTreeNodeProperty: "SYSTEM_TREE_NODE_PROPERTY",
	trace.DefSystemTreeNodeDomain: "SYSTEM_TREE_NODE_DOMAIN", trace.DefLocationGroupProperty: "LOCATION_GROUP_PROPERTY",
	trace.DefLocationProperty: "LOCATION_PROPERTY", trace.DefCartDimension: "CART_DIMENSION", trace.DefCartTopology: "CART_TOPOLOGY",
	trace.DefCartCoordinate: "CART_COORDINATE", trace.DefSourceCodeLocation: "SOURCE_CODE_LOCATION",
	trace.DefCallingContext: "CALLING_CONTEXT", trace.DefCallingContextProperty: "CALLING_CONTEXT_PROPERTY",
	trace.DefInterruptGenerator: "INTERRUPT_GENERATOR", trace.DefIoFileProperty: "IO_FILE_PROPERTY",
	trace.DefIoRegularFile: "IO_REGULAR_FILE", trace.DefIoDirectory: "IO_DIRECTORY", trace.DefIoHandle: "IO_HANDLE",
	trace.DefIoPreCreatedHandleState: "IO_PRE_CREATED_HANDLE_STATE", trace.DefCallpathParameter: "CALLPATH_PARAMETER",
	trace.DefInterComm: "INTER_COMM",
}
