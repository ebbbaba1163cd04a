package tracetest

import (
	"fmt"
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

func (r *tokenReader) Reading() bool { return true }

func (r *tokenReader) Field(name string, field any, _ trace.RefKind) {
	s, ok := r.take(name)
	if !ok {
		return
	}
	number := func(text string, bits int) uint64 {
		n, err := strconv.ParseUint(text, 10, bits)
		r.wrong(err, name, s)
		return n
	}
	switch v := field.(type) {
	case *uint8:
		*v = uint8(number(s, 8))
	case *uint32:
		*v = uint32(number(s, 32))
	case *uint64:
		*v = number(s, 64)
	case *int64:
		n, err := strconv.ParseInt(s, 10, 64)
		r.wrong(err, name, s)
		*v = n
	case *string:
		q, err := strconv.Unquote(s)
		r.wrong(err, name, s)
		*v = q
	case *trace.Value:
		t, bits, _ := strings.Cut(s, ":")
		v.Type, v.Bits = trace.ValueType(number(t, 8)), number(bits, 64)
	}
}

// wrong notes that the text of a field cannot be read.
func (r *tokenReader) wrong(err error, name, text string) {
	if err != nil {
		r.err = fmt.Errorf("%w: %s: %q", ErrText, name, text)
	}
}

func (r *tokenReader) Count(name string, _ int, _ trace.Width) int {
	var n uint32
	r.Field(name, &n, trace.RefNone)
	if uint64(n) > uint64(len(r.rest)) {
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
