package xtf

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// FuzzDecode decodes arbitrary payloads as pages of every type.
func FuzzDecode(f *testing.F) {
	tt := StandardTypes(Packed)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range tt.types {
		rows := randomRows(r, &tt.types[i], 20)
		enc := NewEncoder()
		enc.firstPage(&tt.types[i], rows)
		f.Add(bytes.Clone(enc.out), uint8(i), uint16(20), uint8(CodecPacked))
		f.Add(enc.zstd.EncodeAll(rows, nil), uint8(i), uint16(20), uint8(CodecRows))
	}
	dec, enc := newDecoder(), NewEncoder()
	f.Fuzz(func(t *testing.T, payload []byte, typ uint8, count uint16, codec uint8) {
		ty := &tt.types[int(typ)%len(tt.types)]
		n := 1 + int(count)%ty.PageRows
		rows := make([]byte, n*ty.RowBytes)
		if err := dec.rows(rows, ty, Codec(codec), payload, n, 0); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		// What decodes can be encoded, and decodes to the same rows.
		enc.firstPage(ty, rows)
		again := make([]byte, len(rows))
		if ty.Role != RoleNone && unsorted(enc.keys) >= 0 {
			return // a payload of unsorted keys: checkKeys refuses it
		}
		if err := dec.rows(again, ty, CodecPacked, enc.out, n, 0); err != nil || !bytes.Equal(rows, again) {
			t.Fatalf("%v", err)
		}
	})
}

// firstPage encodes rows as the first page of an array.
func (e *Encoder) firstPage(t *Type, rows []byte) {
	c := *t
	c.Codec = CodecPacked
	e.encodePage(&c, rows, 0, false)
}

func FuzzParse(f *testing.F) {
	tt := StandardTypes(Packed)
	a := buildArray(f, tt, 0, testArray{TypeCall, callRows(rand.New(rand.NewPCG(1, 1)), 30)})
	b, err := a.Summary.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:len(b)-4])
	f.Add(tt.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if tt, err := parseTypes(b); err == nil {
			if again, err := parseTypes(tt.Encode()); err != nil || len(again.types) != len(tt.types) {
				t.Fatalf("types read cannot be read again: %v", err)
			}
		} else if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		sealed := le.AppendUint32(bytes.Clone(b), crc32.Checksum(b, castagnoli))
		s, err := ParseArraySummary(sealed)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := s.AppendBinary(nil)
		if err != nil || len(again) != len(sealed) {
			t.Fatalf("summary of %d bytes becomes %d: %v", len(sealed), len(again), err)
		}
		plan, err := PlanRegion(tt, s.proc, []FinishedArray{{Summary: s, Data: &MemorySink{}}}, nil)
		if err == nil {
			_ = plan.WriteTo(&bytes.Buffer{}, testID)
		}
	})
}
