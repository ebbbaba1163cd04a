package main

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// An estimate of the least size of a trace, which cannot be queried: the gaps of
// all locations in columns by the two records before, as varbyte, after one
// another; and the numbers of each location's records. Both go through xz.
type estimate struct {
	gaps, structure uint64 // bytes
}

// context of a gap: the record before and the record after.
type context struct{ before, after uint32 }

func estimated(src trace.Source) (estimate, error) {
	numbers := map[string]uint32{}
	columns := map[context]int{}
	var gaps [][]byte
	var structure, key []byte
	for p := range trace.P(src.Definitions().NumLocations()) {
		last, before := trace.Time(0), uint32(trace.Undefined)
		err := each(src, p, func(b *trace.Batch) error {
			for i := range b.Events {
				e := &b.Events[i]
				key = recordKey(key[:0], b, e)
				n, ok := numbers[string(key)]
				if !ok {
					n = uint32(len(numbers))
					numbers[string(key)] = n
				}
				structure = binary.AppendUvarint(structure, uint64(n))
				if before == trace.Undefined {
					last = e.Time
				}
				c := context{before, n}
				k, ok := columns[c]
				if !ok {
					k = len(gaps)
					columns[c] = k
					gaps = append(gaps, nil)
				}
				gaps[k] = binary.AppendUvarint(gaps[k], uint64(e.Time-last))
				last, before = e.Time, n
			}
			return nil
		})
		if err != nil {
			return estimate{}, err
		}
	}
	var r estimate
	var err error
	if r.gaps, err = xz(gaps...); err == nil {
		r.structure, err = xz(structure)
	}
	return r, err
}

// recordKey appends everything of an event but its time.
func recordKey(dst []byte, b *trace.Batch, e *trace.Event) []byte {
	dst = append(dst, byte(e.Kind), e.Flags)
	dst = binary.LittleEndian.AppendUint32(dst, e.Ref)
	for _, w := range b.Words(e) {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// xz returns how many bytes the parts are, after one another through xz -6.
func xz(parts ...[]byte) (uint64, error) {
	cmd := exec.Command("xz", "-6", "-T1", "-q", "-c")
	cmd.Stdin = bytes.NewReader(slices.Concat(parts...))
	out, err := cmd.Output()
	return uint64(len(out)), err
}
