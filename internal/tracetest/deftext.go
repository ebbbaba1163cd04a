package tracetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// tokenReader reads the fields of a definition. A named field that is not next
// keeps its default; list elements have no name.
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
