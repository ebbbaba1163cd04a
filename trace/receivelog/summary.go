package receivelog

import (
	"cmp"
	"errors"
	"io"
	"math/bits"
	"slices"
)

// Summary says what is in a log.
type Summary struct {
	Header    *Header
	Calls     uint64
	Payload   uint64 // bytes received
	Stored    uint64 // bytes of these in the log; the others repeat earlier ones
	Functions []FunctionCount
	End       *End // nil in a log that is cut
	Refused   []string
}

// FunctionCount counts the calls of a function.
type FunctionCount struct {
	Function
	Calls, Payload uint64
}

// Summarise reads a log to its end. A log that is cut gives no End. Refused are the functions of the log that a replay does not
// answer. Functions are in descending order of payload, then of calls.
func Summarise(r *Reader) (*Summary, error) {
	s := &Summary{Header: r.Header}
	counts := make(map[string]*FunctionCount)
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrCut) {
			break
		}
		if err != nil {
			return nil, err
		}
		f := counts[c.Function.Name]
		if f == nil {
			f = &FunctionCount{Function: c.Function}
			counts[c.Function.Name] = f
		}
		f.Calls += c.Times
		s.Calls += c.Times
		for _, o := range c.Outputs {
			hi, bytes := bits.Mul64(o.Payload.Bytes, c.Times)
			if hi > 0 || s.Payload+bytes < bytes {
				return nil, corrupt("call %d: %d times %d bytes, which nobody receives", c.Number, c.Times, o.Payload.Bytes)
			}
			f.Payload += bytes
			s.Payload += bytes
			if !o.Payload.Again {
				s.Stored += o.Payload.Bytes
			}
		}
	}
	if e, ok := r.End(); ok {
		s.End = &e
	}
	for _, f := range counts {
		s.Functions = append(s.Functions, *f)
		if f.Class == Refused {
			s.Refused = append(s.Refused, f.Name)
		}
	}
	slices.Sort(s.Refused)
	slices.SortFunc(s.Functions, func(a, b FunctionCount) int {
		return cmp.Or(cmp.Compare(b.Payload, a.Payload), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return s, nil
}
