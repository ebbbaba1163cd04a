package paraver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// Bounds of lines. Headers and communicators name every task; a record has a
// few hundred bytes.
const (
	longestHead   = 64 << 20
	mostHead      = 1 << 30 // of all lines before the first record
	longestRecord = 1 << 20
	readAtOnce    = 128 << 10
)

// lines cuts a stream into lines. Memory: 128 KiB, and the longest line that had no room there.
type lines struct {
	r      *bufio.Reader
	joined []byte // a line that is longer than r holds, up to the limit
	err    error  // of the stream
	number uint64 // of the line returned last, from 1
	limit  int    // bytes of a line
	whole  bool   // the line returned last had its end
}

// next returns the next line without its end, valid until the next call. Of a line above the limit it returns only that the line
// is long. Errors of the stream, io.EOF included, come after the last line.
func (l *lines) next() (line []byte, long bool, err error) {
	if l.err == nil {
		if line, l.err = l.r.ReadSlice('\n'); errors.Is(l.err, bufio.ErrBufferFull) {
			line = l.join(line)
		}
	}
	if len(line) == 0 {
		return nil, false, l.err
	}
	l.number++
	if line, l.whole = bytes.CutSuffix(line, []byte("\n")); len(line) > l.limit {
		l.whole = l.err == nil
		return nil, true, nil
	}
	return bytes.TrimSuffix(line, []byte("\r")), false, nil
}

// join reads the rest of a line that begins with start.
func (l *lines) join(start []byte) []byte {
	l.joined = append(l.joined[:0], start...)
	for errors.Is(l.err, bufio.ErrBufferFull) {
		var part []byte
		part, l.err = l.r.ReadSlice('\n')
		l.joined = append(l.joined, part[:min(len(part), l.limit+2-len(l.joined))]...) // more than the limit, and no more than that
	}
	return l.joined
}

// records reads a trace record by record, after its head.
type records struct {
	*lines
	head    []byte // the lines before the first record
	first   []byte // the first record
	waiting bool   // first is not yet used
}

// newRecords reads the head, of so many bytes at most.
func newRecords(r io.Reader, most int) (*records, error) {
	x := &records{lines: &lines{r: bufio.NewReaderSize(r, readAtOnce), limit: longestHead}}
	for {
		line, long, err := x.lines.next()
		switch {
		case long:
			return nil, fmt.Errorf("paraver: line %d has more than %d bytes: %w", x.number, x.limit, trace.ErrCorrupt)
		case err != nil && x.number > 0 && (errors.Is(err, io.EOF) || readFault(err) != 0):
			return x, nil // a trace without records: next returns the same error
		case err != nil && (errors.Is(err, io.EOF) || readFault(err) != 0):
			return nil, fmt.Errorf("paraver: no line %s at the start: %w", magic, trace.ErrNotTrace)
		case err != nil:
			return nil, fmt.Errorf("paraver: %w", err)
		case x.number == 1 && !bytes.HasPrefix(line, []byte(magic)):
			return nil, fmt.Errorf("paraver: no line %s at the start: %w", magic, trace.ErrNotTrace)
		case x.number > 1 && !ofHead(line):
			x.first, x.waiting = bytes.Clone(line), true
			x.limit = longestRecord
			return x, nil
		}
		if len(line) >= most-len(x.head) {
			return nil, fmt.Errorf("paraver: line %d: more than %d MiB before the first record: %w", x.number, most>>20, trace.ErrUnsupported)
		}
		x.head = append(append(x.head, line...), '\n')
	}
}

// ofHead says whether a line may be before the first record.
func ofHead(line []byte) bool {
	return len(line) == 0 || line[0] == '#' || bytes.HasPrefix(line, []byte("c:")) || bytes.HasPrefix(line, []byte("i:"))
}

// next returns the next line that is not a comment. leftOut is true for a line that cannot be read: one above the limit, or the
// last line of a file that ends within it, where a number may have lost digits.
func (x *records) next() (line []byte, leftOut bool, err error) {
	if x.waiting {
		x.waiting = false
		return x.first, !x.whole, nil
	}
	for {
		line, leftOut, err = x.lines.next()
		if err != nil || leftOut || len(line) > 0 && line[0] != '#' {
			return line, leftOut || err == nil && !x.whole, err
		}
	}
}

// readFault returns what the end of a stream means: 0 for a fault of the system,
// which is not a property of the trace, and for the regular end io.EOF.
func readFault(err error) trace.Code {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return trace.DiagTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return trace.DiagCorrupt
	}
	return 0
}
