package xtf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// errNoMapping says that this system, or this file, cannot be mapped.
var errNoMapping = errors.New("file cannot be mapped")

// announced is the size of a read from which on the system is told of it in
// advance: a mapping is advised to expect pages at random, which would make a
// scan wait for each of them.
const announced = 64 << 10

// mapping is a file in memory as the system maps it. Reads copy out of it, so
// nothing points into it once they return, and Close waits for those under way.
type mapping struct {
	mu   sync.RWMutex
	data []byte // nil once closed
}

// openMapping maps a file of size bytes; the file itself may then be closed.
func openMapping(f *os.File, size int64) (*mapping, error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("%w: %d bytes", errNoMapping, size)
	}
	data, err := mapFile(f, int(size))
	if err != nil {
		return nil, err
	}
	return &mapping{data: data}, nil
}

// ReadAt implements io.ReaderAt. Where the file was cut after it was mapped the
// processor faults; that becomes ErrCorrupt instead of the end of the program.
func (m *mapping) ReadAt(p []byte, off int64) (n int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.data == nil:
		return 0, fmt.Errorf("mapped file: %w", os.ErrClosed)
	case off < 0 || off > int64(len(m.data)):
		return 0, io.EOF
	}
	src := m.data[off:]
	src = src[:min(len(src), len(p))]
	if len(src) >= announced {
		announce(m.data, int(off), len(src))
	}
	if err = copyMapped(p, src); err != nil {
		return 0, err
	}
	if len(src) < len(p) {
		err = io.EOF
	}
	return len(src), err
}

// copyMapped copies bytes of a mapping that may no longer be there.
func copyMapped(dst, src []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = corrupt("the file was cut while it is mapped, or its medium failed")
		}
	}()
	copy(dst, src)
	return nil
}

// Close unmaps the file; later reads fail with os.ErrClosed.
func (m *mapping) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return unmap(data)
}
