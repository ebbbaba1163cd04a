package main

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestForge changes bytes behind the back of checksums: those of the whole and of any span around the change.
func TestForge(t *testing.T) {
	x := rand.New(rand.NewPCG(1, 2))
	table := crc32.MakeTable(crc32.Castagnoli)
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(x.Uint32())
	}
	changed := 0
	for range 50 {
		f, what := forge(x, b)
		if crc32.Update(7, table, f) != crc32.Update(7, table, b) {
			t.Fatalf("%s: another checksum", what)
		}
		if !bytes.Equal(f, b) {
			changed++
		}
	}
	if changed < 40 {
		t.Errorf("%d of 50 changed", changed)
	}
}

// TestJudge finds what no command may print, and messages that do not say what to do.
func TestJudge(t *testing.T) {
	for _, k := range []struct {
		name string
		o    outcome
		bad  bool
	}{
		{"done", outcome{code: 0, out: "x"}, false},
		{"a good message", outcome{code: 3, errs: "coppice: a.xtf: not an XTF file. Give a file that coppice analyze wrote.\n"}, false},
		{"no advice", outcome{code: 3, errs: "coppice: no such file.\n"}, true},
		{"no message", outcome{code: 5, errs: "load 3%\n"}, true},
		{"text and an error", outcome{code: 2, out: "x", errs: "coppice: query: no type. Choose from call, p2p.\n"}, true},
		{"panic", outcome{code: 2, errs: "panic: index out of range\n\ngoroutine 1 [running]:\n"}, true},
		{"race", outcome{code: 66, errs: "WARNING: DATA RACE\n"}, true},
		{"bug", outcome{code: 6, errs: "coppice: unforeseen.\n"}, true},
		{"memory", outcome{code: 0, peak: 4 << 30}, true},
	} {
		k.o.args = []string{"report"}
		r := newRound(&settings{work: t.TempDir()}, 1)
		r.judge(k.o)
		if bad := len(r.wrong) > 0; bad != k.bad {
			t.Errorf("%s: %v", k.name, r.wrong)
		}
	}
}
