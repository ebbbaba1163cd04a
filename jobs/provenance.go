package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// Provenance is everything that an analysis' result depends on. It is in the file and makes its id. It never has paths, host, date,
// command line or the number of ranks.
type Provenance struct {
	Events  string            `json:"events,omitempty"` // SHA-256 over the number of events of each location
	Format  string            `json:"format"`           // of the file
	Input   string            `json:"input"`            // SHA-256 of the trace's definitions
	Kind    string            `json:"kind"`             // format of the input
	Options map[string]string `json:"options"`          // effective options that change results
	Tool    string            `json:"tool"`
}

// ProvenanceOf reads the provenance of a file.
func ProvenanceOf(f *xtf.File) (p Provenance, err error) {
	b, err := f.Provenance()
	if err != nil {
		return p, err
	}
	if err = json.Unmarshal(b, &p); err != nil {
		err = fmt.Errorf("provenance: %w: %w", err, xtf.ErrCorrupt)
	}
	return p, err
}

// Encode returns the canonical JSON: sorted keys, no white space.
func (p *Provenance) Encode() ([]byte, error) { return json.Marshal(p) }

// Differs describes how another job's provenance, in JSON, differs from p.
func (p *Provenance) Differs(other []byte) string {
	var q Provenance
	if json.Unmarshal(other, &q) != nil {
		return "its provenance cannot be read"
	}
	var list []string
	note := func(what, is, was string) {
		if is != was {
			list = append(list, fmt.Sprintf("%s is %q, was %q", what, is, was))
		}
	}
	note("tool", p.Tool, q.Tool)
	note("file format", p.Format, q.Format)
	note("kind of input", p.Kind, q.Kind)
	if p.Input != q.Input {
		list = append(list, "the input is another")
	}
	names := slices.Sorted(maps.Keys(p.Options))
	for name := range q.Options {
		if _, ok := p.Options[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		note("option "+name, p.Options[name], q.Options[name])
	}
	return strings.Join(list, ", ")
}

// FileID returns the identity of the file, which is known before the first page is written: the first 16 bytes of SHA-256 over the
// provenance without the event counts; and the same in hexadecimal.
func (p *Provenance) FileID() ([16]byte, string, error) {
	q := *p
	q.Events = ""
	b, err := q.Encode()
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16]), hex.EncodeToString(sum[:16]), err
}
