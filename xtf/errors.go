package xtf

import (
	"errors"
	"fmt"
)

// One sentinel per decision a caller can take.
var (
	// ErrNotXTF says the bytes are something else: look for the right file.
	ErrNotXTF = errors.New("not an XTF file")
	// ErrNotCommitted says the writer stopped before the end: analyze again.
	ErrNotCommitted = errors.New("XTF file was not committed")
	// ErrCorrupt says bytes changed after they were written: copy or analyze again.
	ErrCorrupt = errors.New("XTF data is corrupt")
	// ErrVersion says the file needs a newer program.
	ErrVersion = errors.New("XTF version is not supported")
	// ErrOrder says a producer gave rows whose key runs backwards.
	ErrOrder = errors.New("rows out of order")
	// ErrNoProc says the file has no such location.
	ErrNoProc = errors.New("no such location")
	// ErrNoSection says the file has no such section or blob.
	ErrNoSection = errors.New("no such section")
	// ErrOpenRows says an array was finished while rows were still open.
	ErrOpenRows = errors.New("rows still open")
	// ErrTooLarge says a structure would exceed a limit of the format.
	ErrTooLarge = errors.New("exceeds a limit of the XTF format")
)

// corrupt wraps ErrCorrupt with what was found; callers add where.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
