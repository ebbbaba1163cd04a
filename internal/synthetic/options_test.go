package synthetic

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/synthetic/specs"
)

func TestParseOptions(t *testing.T) {
	got, err := ParseOptions("stencil:procs=64,events=20M,jitter=5,seed=1,metrics,io=false,broken=stray-leave+backwards,chunk=1k")
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Program: "stencil", Processes: 64, Events: 20_000_000, Jitter: 5, Seed: 1, Metrics: true,
		Broken: StrayLeave | Backwards, Chunk: 1000,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, spec := range specs.Sound {
		o, err := ParseOptions(spec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseOptions(o.String())
		if err != nil || cmp.Diff(o, back) != "" {
			t.Errorf("%s: written as %s, read as %+v, %v", spec, o, back, err)
		}
		full, err := ParseOptions(open(t, spec).Options().String())
		if err != nil || cmp.Diff(open(t, spec).Options(), full) != "" {
			t.Errorf("%s: defaults written as %s do not read back: %v", spec, full, err)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	for _, spec := range []string{
		"stencil:procs=100001", "stencil:procs=x", "stencil:procs=99999999999999999999", "stencil:events=20Q", "stencil:color=red",
		"stencil:metrics=maybe", "stencil:broken=everything", "stencil:events=99999999999999G", "stencil:jitter=1001", "stencil:procs=8G",
		"stencil:procs=1,broken=unmatched-send", "tree:procs=4", "stencil:iterations=1T", "stencil:depth=1001", "stencil:procs",
		"stencil:iterations=1000G,work=4G", "irregular:procs=64,iterations=10M",
	} {
		o, err := ParseOptions(spec)
		if err == nil {
			_, err = New(o)
		}
		if !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", spec, err)
		}
	}
}

func FuzzParseOptions(f *testing.F) {
	for _, spec := range specs.Sound {
		f.Add(spec)
	}
	f.Add("irregular:broken=all,seed=18446744073709551615,work=1k,metrics=false")
	f.Fuzz(func(t *testing.T, spec string) {
		o, err := ParseOptions(spec)
		if err != nil {
			if !errors.Is(err, ErrOptions) {
				t.Fatal(err)
			}
			return
		}
		back, err := ParseOptions(o.String())
		if err != nil || back != o {
			t.Fatalf("%q is written as %q and read as %+v, %v", spec, o.String(), back, err)
		}
	})
}
