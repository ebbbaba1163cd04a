package receivelog

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Kinds of records.
const (
	recHeader = 1
	recCall   = 2
	recRepeat = 3
	recEnd    = 4
)

// Kind is the kind of an output.
type Kind byte

// Kinds of outputs. docs/format/log.md says what their Values are.
const (
	Int     Kind = 1
	Ints    Kind = 2
	Comm    Kind = 3 // number, size, rank, remote size
	Object  Kind = 4
	Request Kind = 5
	Status  Kind = 6 // index, source, tag, error, bytes, flags
	Data    Kind = 7
	Text    Kind = 8
	Done    Kind = 9 // index, request
	Real    Kind = 10
)

// Output is what a call gave through a parameter.
type Output struct {
	Kind      Kind
	Parameter uint64
	Values    []int64
	Payload   Payload
	Text      string
	Real      float64
}

// Payload is a place in the stream that holds a payload: Bytes from byte Where on.
type Payload struct {
	Bytes, Where uint64
	Again        bool // stored with an earlier call
}

// Bits of the inputs that a call has.
const (
	Peer = 1 << iota
	Tag
	Bytes
	Communicator
	Peer2
	Tag2
	Requests
)

// Call is a call, or several equal calls in a row.
type Call struct {
	Number   uint64 // of the first of them, from 0
	Times    uint64
	Function Function
	Code     int64
	Checked  byte // bits of what is in Inputs
	Inputs   [7]int64
	Outputs  []Output
}

// Reason says how a log ended.
type Reason uint64

var reasons = [...]string{
	"unknown", "MPI_Finalize", "exit without MPI_Finalize", "MPI_Abort", "the most bytes were reached", "unknown",
	"a second thread called MPI", "no memory",
}

func (r Reason) String() string {
	if r < Reason(len(reasons)) {
		return reasons[r]
	}
	return reasons[0]
}

// Whole reports whether the log goes to the end of the program.
func (r Reason) Whole() bool { return r >= 1 && r <= 3 }

// End is the last record of a log.
type End struct {
	Reason                   Reason
	Calls                    uint64
	Payload, Again, Unlogged uint64 // bytes of payloads; of these stored earlier; receives whose request was freed
}

// Reader reads a log once.
type Reader struct {
	Header  *Header
	s       stream
	call    Call
	calls   uint64
	started bool
	end     *End
	err     error
}

// Open reads the header of a log of size bytes.
func Open(file io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{s: stream{file: file, size: size}}
	kind, b, err := r.record()
	if errors.Is(err, io.EOF) && size == 0 {
		return nil, ErrNotLog
	}
	if err == nil && kind != recHeader {
		err = corrupt("the first record is of kind %d", kind)
	}
	if err == nil {
		r.Header = b.header()
		err = b.err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w in its header", ErrCut)
	}
	return r, err
}

// OpenPath opens the log at path and reads its header. Close closes the file.
func OpenPath(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%w: a folder", ErrNotLog)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := Open(f, st.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Size returns the bytes of the log.
func (r *Reader) Size() int64 { return r.s.size }

// Close closes the file, if there is something to close.
func (r *Reader) Close() error {
	if c, ok := r.s.file.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// record begins the next record: io.EOF at the end of the file.
func (r *Reader) record() (byte, *body, error) {
	kind, err := r.s.byte()
	if err != nil {
		return 0, nil, err
	}
	b := &body{stream: &r.s, end: ^uint64(0)}
	n := b.varint()
	if b.err != nil {
		return 0, nil, ended(b.err)
	}
	if n > r.s.left() {
		if n > 1<<62 {
			return 0, nil, corrupt("a record of %d bytes", n)
		}
		return 0, nil, fmt.Errorf("%w in a record of %d bytes", ErrCut, n)
	}
	b.end = r.s.offset + n
	return kind, b, nil
}

// ended turns the end of the file within a record into ErrCut.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w within a record", ErrCut)
	}
	return err
}

// Next returns the next call, which is valid until the one after it. It returns io.EOF after the end record and ErrCut where
// that is missing.
func (r *Reader) Next() (*Call, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &r.call, nil
}

func (r *Reader) next() error {
	kind, b, err := r.record()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w after %d calls", ErrCut, r.calls)
	}
	if err != nil {
		return err
	}
	switch kind {
	case recCall:
		c := &r.call
		*c = Call{Number: r.calls, Times: 1, Outputs: c.Outputs[:0]}
		number := b.varint()
		var known bool
		if c.Function, known = r.Header.Functions[number]; !known {
			b.fail("call %d of function %d, which the header does not name", r.calls, number)
		}
		c.Code = b.zigzag()
		c.inputs(b)
		for b.more() {
			c.Outputs = append(c.Outputs, b.output())
		}
		r.calls++
		r.started = true
	case recRepeat:
		n := b.varint()
		if !r.started || n == 0 || r.calls+n < n {
			b.fail("a call is repeated %d times", n)
		}
		r.call.Number, r.call.Times = r.calls, n
		r.calls += n
	case recEnd:
		return r.readEnd(b)
	default:
		return corrupt("a record of kind %d", kind)
	}
	if b.more() {
		b.fail("call %d: bytes after the contents", r.call.Number)
	}
	return ended(b.err)
}

// readEnd returns io.EOF where nothing follows the last record.
func (r *Reader) readEnd(b *body) error {
	var v [5]uint64
	for i := range v {
		v[i] = b.varint()
	}
	if b.more() || v[1] != r.calls {
		b.fail("the end says %d calls after %d", v[1], r.calls)
	}
	if b.err != nil {
		return ended(b.err)
	}
	r.end = &End{Reason(v[0]), v[1], v[2], v[3], v[4]}
	_, err := r.s.byte()
	if err == nil {
		err = corrupt("bytes after the end")
	}
	return err
}

// End returns the end record; false until Next has met it.
func (r *Reader) End() (End, bool) {
	if r.end == nil {
		return End{}, false
	}
	return *r.end, true
}
