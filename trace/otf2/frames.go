package otf2

import (
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// headerSize is the size of a chunk header: 0x03, byte order, number of the
// first and of the last event in the chunk, counted from 1.
const headerSize = 18

type header struct {
	big         bool
	first, last uint64
}

var errHeader = errors.New("no chunk header")

func parseHeader(b []byte) (header, error) {
	if len(b) < headerSize || b[0] != headerByte {
		return header{}, errHeader
	}
	big := b[1] == bigEndian
	if !big && b[1] != littleEndian {
		return header{}, errHeader
	}
	return header{big, order(big).Uint64(b[2:]), order(big).Uint64(b[10:])}, nil
}

// problem is damage found in a definition file, at a byte offset.
type problem struct {
	offset int64
	what   string
}

// records calls f for every record of a definition file of the given size, cut
// into chunks. The cursor that f gets covers the record's payload only. The
// first problem of the framing ends the walk and is returned. Memory: one chunk.
func records(r io.ReaderAt, size, chunk int64, f func(id uint8, at int64, c *cursor)) (*problem, error) {
	buf := make([]byte, min(size, chunk))
	for base := int64(0); ; base += chunk {
		if base >= size {
			return &problem{base, "the file ends before its end mark"}, nil
		}
		b := buf[:min(chunk, size-base)]
		if n, err := r.ReadAt(b, base); n < len(b) {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			b = b[:n]
		}
		h, err := parseHeader(b)
		if err != nil {
			return &problem{base, "no chunk header" + mangled(b)}, nil
		}
		done, p := chunkRecords(b, base, h.big, f)
		if p != nil || done {
			return p, nil
		}
	}
}

// chunkRecords walks one chunk; done tells that the end mark was met.
func chunkRecords(b []byte, base int64, big bool, f func(id uint8, at int64, c *cursor)) (done bool, p *problem) {
	c := cursor{b: b, pos: headerSize, big: big}
	for {
		at := c.pos
		id := c.u8()
		switch {
		case c.state != fine:
			return false, &problem{base + int64(at), "the data end before the end mark"}
		case id == endOfChunk:
			return false, nil
		case id == endOfFile:
			return true, nil
		case id < 5:
			return false, &problem{base + int64(at), fmt.Sprintf("control byte %#x where a record should be", id)}
		}
		n := c.length()
		if c.state != fine {
			return false, &problem{base + int64(at), "a record is longer than its chunk" + mangled(b)}
		}
		payload := cursor{b: c.take(n), big: big}
		f(id, base+int64(at), &payload)
	}
}

func (p *problem) describe(code trace.Code, file string) trace.Diagnostic {
	return trace.Diagnostic{Code: code, Count: 1, Detail: fmt.Sprintf("%s: byte %d: %s", file, p.offset, p.what)}
}
