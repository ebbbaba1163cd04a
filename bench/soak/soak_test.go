package main

import (
	"bytes"
	"runtime"
	"testing"
)

// TestJudge finds what no command may print, and messages that do not say what to do.
func TestJudge(t *testing.T) {
	for _, k := range []struct {
		name string
		o    outcome
		bad  bool
	}{
		{"done", outcome{code: 0, out: "x"}, false},
		{"a good message", outcome{code: 3, errs: "coppice: a.xtf: not an XTF file. Give a file that coppice analyze wrote.\n"}, false},
		{"a good question", outcome{code: 2, errs: "coppice: report: --ordered al: no component; docs/metrics.md lists them. Did you mean all_to_all?\n"}, false},
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

// TestPeak: a small command next to a large result is not taken for a large one.
func TestPeak(t *testing.T) {
	held := bytes.Repeat([]byte{1}, 256<<20)
	r := newRound(&settings{work: t.TempDir(), bin: "/bin/true"}, 2)
	r.dir = t.TempDir()
	if o := r.do(command{}); o.code != 0 || o.peak >= int64(len(held)) {
		t.Errorf("exit code %d, peak %d", o.code, o.peak)
	}
	runtime.KeepAlive(held)
}
