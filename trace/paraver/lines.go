package paraver

import (
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
	shown         = 64 // of a line that is too long
)

// lines cuts a stream into lines. Memory: 128 KiB, or twice the longest line
// allowed so far.
type lines struct {
	r      io.Reader
	buf    []byte
	at     int // start of what is not used yet
	end    int
	err    error
	number uint64 // of the line returned last, from 1
	limit  int    // bytes of a line
	whole  bool   // the line returned last had its end
}

func newLines(r io.Reader) *lines {
	return &lines{r: r, buf: make([]byte, readAtOnce), limit: longestHead}
}

// next returns the next line without its end, valid until the next call. A line
// longer than the limit is stepped over and returned as its start, with long
// set. Errors of the stream come after the last line, io.EOF too.
func (l *lines) next() (line []byte, long bool, err error) {
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.at+seen:l.end], '\n'); i >= 0 {
			line, long = l.bounded(l.buf[l.at : l.at+seen+i])
			l.at += seen + i + 1
			return l.line(line, true), long, nil
		}
		seen = l.end - l.at
		if l.err != nil {
			if seen == 0 {
				return nil, false, l.err
			}
			line, long = l.bounded(l.buf[l.at:l.end])
			l.at = l.end
			return l.line(line, false), long, nil
		}
		if seen > l.limit {
			return l.cut(seen)
		}
		l.fill()
	}
}

// bounded returns a line, or the start of one that is too long.
func (l *lines) bounded(line []byte) ([]byte, bool) {
	if len(line) > l.limit {
		return line[:shown], true
	}
	return line, false
}

func (l *lines) line(b []byte, whole bool) []byte {
	l.number++
	l.whole = whole
	return bytes.TrimSuffix(b, []byte("\r"))
}

// cut steps over the rest of a line that is too long.
func (l *lines) cut(seen int) ([]byte, bool, error) {
	start := bytes.Clone(l.buf[l.at : l.at+shown])
	for {
		l.at = l.end
		if l.err != nil {
			return l.line(start, false), true, nil
		}
		l.fill()
		if i := bytes.IndexByte(l.buf[l.at:l.end], '\n'); i >= 0 {
			l.at += i + 1
			return l.line(start, true), true, nil
		}
	}
}

// fill reads more after what is there.
func (l *lines) fill() {
	if l.at > 0 {
		copy(l.buf, l.buf[l.at:l.end])
		l.at, l.end = 0, l.end-l.at
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
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
	x := &records{lines: newLines(r)}
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

// next returns the next line that is not a comment.
func (x *records) next() (line []byte, long bool, err error) {
	if x.waiting {
		x.waiting = false
		return x.first, false, nil
	}
	for {
		line, long, err = x.lines.next()
		if err != nil || long || len(line) > 0 && line[0] != '#' {
			return line, long, err
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
