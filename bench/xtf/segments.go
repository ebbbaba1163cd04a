package main

import (
	"errors"
	"io"
	"os"
)

// segments keeps encoded pages until the array is complete, as analyze does with
// little memory: up to segmentBytes in memory, the rest in a file.
type segments struct {
	f     *os.File
	start []byte // the first segmentBytes
	tail  []byte // of the file, not yet written
	at    int64  // where tail belongs
}

const (
	segmentBytes = 256 << 20
	tailBytes    = 4 << 20
)

func newSegments(path string) (*segments, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segments{f: f}, nil
}

// Append implements xtf.Sink.
func (s *segments) Append(b []byte) (int64, error) {
	if len(s.start)+len(b) <= segmentBytes && s.at == 0 && len(s.tail) == 0 {
		s.start = append(s.start, b...)
		return int64(len(s.start) - len(b)), nil
	}
	if len(s.tail)+len(b) > tailBytes {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	s.tail = append(s.tail, b...)
	return int64(len(s.start)) + s.at + int64(len(s.tail)-len(b)), nil
}

func (s *segments) flush() error {
	_, err := s.f.WriteAt(s.tail, s.at)
	s.at += int64(len(s.tail))
	s.tail = s.tail[:0]
	return err
}

// ReadAt implements xtf.Sink.
func (s *segments) ReadAt(p []byte, off int64) (int, error) {
	if len(s.tail) > 0 {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	n := 0
	if off < int64(len(s.start)) {
		n = copy(p, s.start[off:])
		off += int64(n)
	}
	if n == len(p) {
		return n, nil
	}
	k, err := s.f.ReadAt(p[n:], off-int64(len(s.start)))
	if errors.Is(err, io.EOF) && n+k == len(p) {
		err = nil
	}
	return n + k, err
}

// Close gives the storage back.
func (s *segments) Close() error { return s.f.Close() }
