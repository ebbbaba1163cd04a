package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
)

// TestPlan follows a job of three planned stages and one that is not: its share never falls, ends at 1, and belongs to the stages by
// their costs.
func TestPlan(t *testing.T) {
	var seen []Progress
	err := mpi.RunInProcess(1, func(c mpi.Comm) error {
		m := NewMeter(c, func(p Progress) { seen = append(seen, p) })
		m.Plan([]Cost{{"load", 60}, {"match", 10}, {"commit", 30}})
		m.Stage("open", 0, 0)
		m.Stage("load", 200, 200)
		m.next = time.Time{} // it is time for a report
		m.Add(100)
		m.Stage("number", 0, 0)
		m.Stage("match", 200, 200)
		m.Stage("commit", 200, 200)
		m.Close(false)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	jobs := map[string]float64{}
	for i := range seen {
		st := seen[i].Status(time.Unix(0, 0))
		if st.Job < last {
			t.Errorf("%s: %.2f of the job after %.2f", st.Stage, st.Job, last)
		}
		last = st.Job
		if _, ok := jobs[st.Stage]; !ok {
			jobs[st.Stage] = st.Job
		}
		if st.Stage == "load" && st.Done == 100 && st.Job != 0.3 {
			t.Errorf("in the middle of load %.2f of the job are done, not 0.30", st.Job)
		}
	}
	if last != 1 {
		t.Errorf("at the end %.2f of the job are done", last)
	}
	for stage, want := range map[string]float64{"open": 0, "load": 0, "number": 0.6, "match": 0.6, "commit": 0.7} {
		if got := jobs[stage]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s begins at %.2f of the job, not %.2f", stage, got, want)
		}
	}
}

// TestJobLeft expects the rest of a job that went on from a checkpoint to take as long as what this process did of it.
func TestJobLeft(t *testing.T) {
	p := Progress{Stage: "finish", Done: 50, Total: 100, Ranks: 4, Slowest: 2, Share: 0.25, Begin: 0.4, From: 0.6, To: 0.8, Running: 30 * time.Second}
	st := p.Status(time.Unix(0, 0)) // 0.7 are done, 0.3 of them here in 30 s
	if st.Job < 0.6999 || st.Job > 0.7001 || st.JobLeft != 30 {
		t.Errorf("%.3f done, %v s left; want 0.700 and 30", st.Job, st.JobLeft)
	}
	for _, want := range []string{"70 %, finish 50 %", "50 B of 100 B", "4 ranks, slowest 2 at 25 %", "about 30 s left"} {
		if !strings.Contains(st.Text(), want) {
			t.Errorf("%q lacks %q", st.Text(), want)
		}
	}
}

// TestTotal: the total of a stage is that of all ranks from its begin to its end, whoever has reported.
func TestTotal(t *testing.T) {
	var seen []Progress
	err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		m := NewMeter(c, func(p Progress) { seen = append(seen, p) })
		m.Stage("load", 100, 300)
		m.next = time.Time{} // it is time for a report
		m.Add(100)
		m.Close(false)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if p := &seen[i]; p.Total != 300 || p.Done < 100 && i > 0 || i == len(seen)-1 && (!p.End || p.Done != 300) {
			t.Errorf("report %d: %d of %d bytes, end %t", i, p.Done, p.Total, p.End)
		}
	}
	if len(seen) < 3 {
		t.Errorf("%d reports", len(seen))
	}
}

// TestProgressOfOthers: what a rank does is shown while rank 0 waits for it.
func TestProgressOfOthers(t *testing.T) {
	t.Parallel()
	seen := make(chan uint64, 100)
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		side, err := c.Dup()
		if err != nil {
			return err
		}
		m := NewMeter(side, func(p Progress) {
			select {
			case seen <- p.Done:
			default: // nobody reads any more
			}
		})
		m.Stage("causes", 100, 200)
		if c.Rank() == 1 {
			m.mu.Lock()
			m.next = time.Time{} // it is time for a report
			m.mu.Unlock()
			m.Add(60)
			for done := range seen {
				if done == 60 {
					break
				}
			}
			err = c.Send(nil, 0, 1)
		} else {
			ticks := make(chan time.Time)
			m.reportAt(ticks, func() {})
			go func() {
				for n := 1; ; n++ { // the message of rank 1 may not be there yet
					select {
					case ticks <- time.Now().Add(time.Duration(n) * time.Hour):
					case <-m.end:
						return
					}
				}
			}()
			_, _, err = c.Recv(1, 1)
		}
		m.Close(err != nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
