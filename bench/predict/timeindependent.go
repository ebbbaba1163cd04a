package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// writeSMPI writes what a process of a program does as a time-independent trace, which SimGrid's smpirun -replay reads
// (Casanova, Desprez, Markomanolis, Suter 2015). Computation is in workload.Nanoseconds, so hosts make 10^9 operations a second.
// Messages are point to point, of bytes.
func writeSMPI(w io.Writer, p *program.Program, calc simnet.Calc, process int) error {
	out := bufio.NewWriterSize(w, 1<<16)
	r := smpiRank{out: out, process: process}
	fmt.Fprintf(out, "%d init\n", process)
	ordinal := uint64(0)
	compute := func() {
		var ps [1]int64
		if r.err == nil {
			r.err = calc.Fill(uint32(process), ordinal, ps[:])
		}
		if ns := ps[0] / workload.Nanosecond; ns > 0 {
			fmt.Fprintf(out, "%d compute %d\n", process, ns)
		}
		ordinal++
	}
	workload.Walk(p, process, func(actions []program.Action) {
		compute()
		r.call(actions)
	})
	compute()
	fmt.Fprintf(out, "%d finalize\n", process)
	if r.err != nil {
		return r.err
	}
	return out.Flush()
}

// smpiRank writes the calls of one process.
type smpiRank struct {
	out     *bufio.Writer
	process int
	err     error
	open    int // posts, not completed
}

const smpiByte = 6 // a type of one byte in time-independent traces

// smpiNames are the calls that post: blocking ones complete what they post.
var smpiNames = map[program.ActionKind][2]string{program.PostSend: {"isend", "send"}, program.PostRecv: {"irecv", "recv"}}

func (r *smpiRank) call(actions []program.Action) {
	blocking := len(actions) == 2 && actions[0].Flags&program.Blocking != 0
	waits := 0
	for i, a := range actions {
		switch a.Kind {
		case program.PostSend, program.PostRecv:
			name := smpiNames[a.Kind][0]
			if blocking {
				name = smpiNames[a.Kind][1]
			} else {
				r.open++
			}
			fmt.Fprintf(r.out, "%d %s %d %d %d %d\n", r.process, name, a.Peer, a.Tag, a.Bytes, smpiByte)
		case program.WaitSend, program.WaitRecv:
			if !(blocking && i == 1) {
				waits++
			}
		default:
			r.err = fmt.Errorf("action %d has no form in a time-independent trace", a.Kind)
		}
	}
	switch waits {
	case 0:
	case r.open:
		fmt.Fprintf(r.out, "%d waitall\n", r.process)
		r.open = 0
	default:
		r.err = fmt.Errorf("process %d waits for a part of what it posted, which has no form in a time-independent trace", r.process)
	}
}
