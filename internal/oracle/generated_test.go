package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/synthetic/specs"
	"github.com/coppice-hpc/coppice/trace"
)

func generate(t *testing.T, spec string) *synthetic.Source {
	t.Helper()
	o, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSound finds no problem in sound programs.
func TestSound(t *testing.T) {
	for _, spec := range specs.Sound {
		t.Run(spec, func(t *testing.T) {
			r := analyze(t, generate(t, spec), oracle.Options{})
			if len(r.Diagnostics) != 0 {
				t.Errorf("problems in a sound run: %v", r.Diagnostics)
			}
		})
	}
}

// problems lists what an analysis has to report about the planted faults.
func problems(s *synthetic.Source) map[trace.Code]uint64 {
	o := s.Options()
	bare := o.Iterations == 0 && o.Events < 10*uint64(len(s.Definitions().Processes())) // without a barrier
	out := map[trace.Code]uint64{}
	for _, e := range []struct {
		defect synthetic.Defects
		code   trace.Code
		count  uint64
	}{
		{synthetic.OpenCall, trace.DiagOpenCall, 2},
		{synthetic.StrayLeave, trace.DiagStrayLeave, 1},
		{synthetic.Backwards, trace.DiagTimeBackwards, 1},
		{synthetic.DanglingRegion, trace.DiagBadReference, 2},
		{synthetic.DanglingComm, trace.DiagUnknownPeer, 1},
		{synthetic.UnmatchedSend, trace.DiagUnmatchedSend, 1},
		{synthetic.UnmatchedRecv, trace.DiagUnmatchedRecv, 1},
		{synthetic.UnknownRequest, trace.DiagUnknownRequest, 1},
		{synthetic.OpenRequest, trace.DiagOpenRequest, 1},
		{synthetic.ShortCollective, trace.DiagShortCollective, 1},
		{synthetic.MixedCollective, trace.DiagMixedCollective, 1},
		{synthetic.BytesDiffer, trace.DiagBytesDiffer, 1},
	} {
		if o.Broken&e.defect != 0 && (!bare || e.defect&(synthetic.ShortCollective|synthetic.MixedCollective) == 0) {
			out[e.code] += e.count
		}
	}
	if len(s.Definitions().Processes()) == 2 && o.Broken&synthetic.ShortCollective != 0 {
		delete(out, trace.DiagMixedCollective) // nobody is left to disagree with
	}
	if o.Metrics && o.Broken&synthetic.Backwards != 0 {
		out[trace.DiagTimeBackwards]++ // the counter before the leave
	}
	return out
}

// TestFaults plants every fault alone and all together in every program.
func TestFaults(t *testing.T) {
	for _, spec := range specs.Faulty() {
		t.Run(spec, func(t *testing.T) {
			s := generate(t, spec)
			r := analyze(t, s, oracle.Options{})
			if d := cmp.Diff(problems(s), r.Diagnostics); d != "" {
				t.Errorf("problems: planted (-) and found (+) differ:\n%s", d)
			}
		})
	}
}

// TestSkew checks that uncorrected clock errors break causality.
func TestSkew(t *testing.T) {
	r := analyze(t, generate(t, specs.Skewed), oracle.Options{})
	if r.Diagnostics[trace.DiagClockViolation] == 0 || r.WorstReverse == 0 {
		t.Error("no message was received before it was sent")
	}
}

// TestPhysics checks that no message arrives before its flight time, and that receives do not end before.
func TestPhysics(t *testing.T) {
	var late, pairs uint64
	for _, spec := range specs.Sound {
		t.Run(spec, func(t *testing.T) {
			r := analyze(t, generate(t, spec), oracle.Options{})
			pairs += uint64(len(r.Matches))
			for _, m := range r.Matches {
				if m.Send.Enter > m.Recv.Enter {
					late++
				}
				if m.Send.Bytes != m.Recv.Bytes {
					t.Fatalf("sent %d bytes, received %d: %+v", m.Send.Bytes, m.Recv.Bytes, m)
				}
				if m.Recv.Leave < m.Send.Enter+synthetic.Flight(m.Send.Bytes) {
					t.Fatalf("received before it can have arrived: %+v", m)
				}
				if m.Recv.Posted > m.Recv.Visit || m.Send.Leave < m.Send.Enter {
					t.Fatalf("order of a message: %+v", m)
				}
			}
		})
	}
	if late == 0 || late > pairs*9/10 {
		t.Errorf("%d of %d messages late: the runs do not exercise waiting", late, pairs)
	}
}
