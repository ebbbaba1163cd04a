// Command otf2 measures how fast this repository reads OTF2 archives, in events
// per CPU second. run.sh compares it with libotf2 on the same archive.
//
//	otf2 decode|touch|merge ARCHIVE
//
// touch and merge look at every event. It prints the number of events, the CPU
// seconds of the process spent on them and a sum over times, references and
// message fields, which is the same for every reader.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: otf2 decode|touch|merge ARCHIVE")
		os.Exit(2)
	}
	if err := read(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tally is what a reader counts.
type tally struct{ events, sum uint64 }

func read(mode, path string) error {
	a, err := otf2.OpenPath(path)
	if err != nil {
		return err
	}
	defer a.Close()
	var t tally
	before := cpuSeconds()
	switch mode {
	case "decode", "touch":
		err = local(a, mode == "touch", &t)
	case "merge":
		err = merged(a, &t)
	default:
		err = fmt.Errorf("unknown mode %s", mode)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d %.6f %x\n", t.events, cpuSeconds()-before, t.sum)
	return nil
}

// local reads one location after the other.
func local(a *otf2.Archive, touch bool, t *tally) error {
	var b trace.Batch
	for p := range trace.P(a.Definitions().NumLocations()) {
		st, err := a.Stream(p)
		if err != nil {
			return err
		}
		for i := range st.Chunks() {
			r, err := st.Chunk(i)
			if err != nil {
				return err
			}
			for err = r.Next(&b); err == nil; err = r.Next(&b) {
				if touch {
					t.add(&b, 0, len(b.Events))
				} else {
					t.events += uint64(len(b.Events))
				}
			}
			r.Close()
			if !errors.Is(err, io.EOF) {
				return err
			}
		}
		st.Close()
	}
	return nil
}

// merged reads all locations in global order.
func merged(a *otf2.Archive, t *tally) error {
	m, err := Merge(a)
	if err != nil {
		return err
	}
	defer m.Close()
	for {
		runs, err := m.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t.addRuns(runs)
	}
}

// add looks at every field of the events, as the callbacks of the peer do.
func (t *tally) add(b *trace.Batch, from, to int) {
	sum := t.sum
	for i := from; i < to; i++ {
		e := &b.Events[i]
		switch e.Kind {
		case trace.Enter, trace.Leave:
			sum ^= uint64(e.Time) + uint64(e.Ref)
		case trace.MpiSend, trace.MpiRecv:
			w := b.Words(e)
			sum ^= uint64(e.Time) + w[0] + w[1] + w[2] + w[3]
		}
	}
	t.sum = sum
	t.events += uint64(to - from)
}

// addRuns is add for the short runs of a merge.
func (t *tally) addRuns(runs []Run) {
	sum := t.sum
	for _, r := range runs {
		for i := r.From; i < r.To; i++ {
			e := &r.Batch.Events[i]
			switch e.Kind {
			case trace.Enter, trace.Leave:
				sum ^= uint64(e.Time) + uint64(e.Ref)
			case trace.MpiSend, trace.MpiRecv:
				w := r.Batch.Words(e)
				sum ^= uint64(e.Time) + w[0] + w[1] + w[2] + w[3]
			}
		}
		t.events += uint64(r.To - r.From)
	}
	t.sum = sum
}

// cpuSeconds returns the user and system time of the process.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
