package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lookAtInput checks the input and asks what it is, twice: the same text. A damaged one may be refused; a sound one is clean.
func (r *round) lookAtInput() {
	x := r.random("look")
	for _, args := range [][]string{{"check", r.in.path}, {"info", r.in.path}, {"info", r.in.path, "--format", "json"}, {"check", r.in.path, "--format", "json"}} {
		if x.IntN(2) == 0 {
			continue
		}
		a := r.coppice(args...)
		switch {
		case args[0] == "check":
			r.expect(a, 0, 1, 3)
		case r.in.sound:
			r.expect(a, 0)
		default:
			r.expect(a, 0, 3, 4)
		}
		if args[len(args)-1] == "json" && a.out != "" {
			var v any
			r.decode(a, &v)
		}
		if x.IntN(4) == 0 {
			b := r.coppice(args...)
			if a.out != b.out || a.code != b.code {
				r.fail("%s: twice the same, other output", a)
			}
		}
	}
}

// analyze makes the result that all steps look at. The options are random; where the input is sound and nothing is refused for
// its size, it ends well. Where it ends well, the file checks clean and says by itself whether it is partial.
func (r *round) analyze() {
	x := r.random("analyze")
	out := r.path("run.xtf")
	for try := range 3 {
		r.options = nil
		if try < 2 {
			r.options = r.deciding(x)
		}
		o := r.coppice(r.analysis(out, r.harmless(x, try == 0)...)...)
		r.afterAnalysis(o, out)
		r.code = o.code
		if o.code != 2 && o.code != 5 {
			break
		}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return
	}
	r.run, r.whole = out, b
	if r.in.sound && r.code == 4 {
		r.fail("a sound input is partial")
	}
	r.expect(r.coppice("check", out), 0)
	r.agree()
}

// analysis is the command line of the round's analysis.
func (r *round) analysis(out string, more ...string) []string {
	args := append([]string{"analyze", r.in.path, "-o", out}, r.options...)
	return append(args, more...)
}

// afterAnalysis asks for a file if and only if the exit code promises one, and for nothing else next to it.
func (r *round) afterAnalysis(o outcome, out string) {
	_, err := os.Stat(out)
	strict := strings.Contains(o.String(), "--strict")
	switch {
	case o.code == 0 || o.code == 1 || o.code == 4 && !strict:
		if err != nil {
			r.fail("%s: exit code %d without a file", o, o.code)
		}
	case err == nil:
		r.fail("%s: exit code %d with a file", o, o.code)
	}
	if o.code != 75 {
		left := leftBeside(out)
		if err != nil { // a failed run keeps what it has listed
			left = slices.DeleteFunc(left, func(f string) bool {
				return strings.HasSuffix(f, ".work") && strings.Contains(o.String(), "--checkpoint-every")
			})
		}
		if len(left) > 0 {
			r.fail("%s: exit code %d, left behind: %s", o, o.code, strings.Join(left, " "))
		}
	}
	if r.in.sound && o.code == 3 {
		r.fail("%s: a sound input is refused", o)
	}
	if o.code == 0 && strings.Contains(o.String(), "--checkpoint ") {
		if left := leftIn(r.path("checkpoint")); len(left) > 0 {
			r.fail("%s: left in --checkpoint: %s", o, strings.Join(left, " "))
		}
	}
}

// deciding draws options that decide what is in the file.
func (r *round) deciding(x *rand.Rand) (list []string) {
	one := func(n int, args ...string) {
		if x.IntN(n) == 0 {
			list = append(list, args[0], args[1+x.IntN(len(args)-1)])
		}
	}
	flag := func(n int, name string) {
		if x.IntN(n) == 0 {
			list = append(list, name)
		}
	}
	one(5, "--pages", "packed", "raw", "raw:16K", "raw:64K")
	one(6, "--events", "none")
	one(6, "--deviation", "10%", "1us", "10%,1us", "500ticks", "1%,10ns,timestamps", "50%", "0")
	flag(8, "--clock-repair")
	flag(16, "--strict")
	one(8, "--markers", "none", "f1", "f2,f6", "f1,f2,f3,f4,f5,f6,f7", "auto")
	one(4, "--interval", "region:MPI_*", "region:*", "region:compute*", "region:timestep", "prv:60000019", "region:solve")
	if x.IntN(8) == 0 {
		list = append(list, "--intervals-file", r.intervalsFile(x))
	}
	switch x.IntN(12) {
	case 0:
		one(1, "--slice", "100us", "5000ticks", "1ms", "7ticks", "1s")
	case 1:
		list = append(list, "--slice-count", strconv.Itoa(1+x.IntN(200)))
	case 2:
		one(1, "--between", "coll:Allreduce", "coll:Barrier", "coll:*")
	}
	flag(8, "--fold-recursion")
	one(8, "--marker-cost", "mpi", "overhead")
	one(8, "--recv-point", "post", "wait")
	one(8, "--init", "include", "exclude")
	if x.IntN(4) == 0 {
		one(1, "--classes", "5%", "10us", "0%", "100%")
		one(3, "--linkage", "complete", "average", "single", "centroid")
		one(3, "--metric", "l1", "l2")
		one(3, "--representative", "mean", "medoid")
		one(3, "--sequence", "calls", "strict")
		one(4, "--quantum", "1%", "10%")
		flag(4, "--dendrogram")
	} else {
		one(12, "--classes-max", "1", "3")
	}
	return list
}

// intervalsFile writes intervals, some of them impossible.
func (r *round) intervalsFile(x *rand.Rand) string {
	var b strings.Builder
	if x.IntN(2) == 0 {
		b.WriteString("rank,begin,end,id,name,file,line\n")
	}
	for i := range 1 + logUniform(x, 60) {
		rank := "*"
		if x.IntN(2) == 0 {
			rank = strconv.Itoa(x.IntN(r.in.procs))
		}
		begin := logUniform(x, 1e8)
		end := begin + logUniform(x, 1e8)
		fmt.Fprintf(&b, "%s,%d,%d,%d,\"part, %d\"", rank, begin, end, 1+i%7, i%7)
		if x.IntN(3) == 0 {
			b.WriteString(",solver.c,12")
		}
		b.WriteString("\n")
	}
	path := r.path("intervals.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		r.fail("%v", err)
	}
	return path
}

// harmless draws options that must not change a byte of the file: ranks, memory, places, talk.
func (r *round) harmless(x *rand.Rand, tight bool) (list []string) {
	list = append(list, "-j", strconv.Itoa(1+x.IntN(5)))
	if tight && x.IntN(3) == 0 {
		list = append(list, "--mem", []string{"64M", "96M", "128M", "200M", "1G", "3GB"}[x.IntN(6)])
	}
	if x.IntN(3) == 0 {
		list = append(list, "--store", []string{"0", "64K", "1M", "64M"}[x.IntN(4)])
	}
	if x.IntN(4) == 0 {
		list = append(list, "--checkpoint-every", []string{"1ms", "50ms", "0", "1s"}[x.IntN(4)])
	}
	if x.IntN(4) == 0 {
		list = append(list, "--checkpoint", r.path("checkpoint"))
	}
	if x.IntN(6) == 0 {
		list = append(list, "--status-file", r.path("status"))
	}
	if x.IntN(6) == 0 {
		list = append(list, "--resume")
	}
	if x.IntN(6) == 0 {
		list = append(list, "--collective-write")
	}
	if x.IntN(8) == 0 {
		list = append(list, "-v")
	}
	switch x.IntN(5) {
	case 0:
		list = append(list, "--progress", "json")
	case 1:
		list = append(list, "--progress", "plain")
	default:
		list = append(list, "-q")
	}
	return list
}

// stepSame analyses again, on other ranks and with other memory, in the process or under mpirun: the same bytes and exit code. A
// run without the race detector keeps to its --mem.
func stepSame(r *round, x *rand.Rand) {
	for i := range 1 + x.IntN(3) {
		out := r.path(fmt.Sprintf("again%d.xtf", i))
		c := command{args: r.analysis(out, r.harmless(x, true)...), plain: x.IntN(4) == 0}
		if r.mpi && x.IntN(3) == 0 {
			c.ranks = 1 + x.IntN(4)
		}
		if x.IntN(4) == 0 {
			c.env = []string{"GOMAXPROCS=" + strconv.Itoa(1+x.IntN(4))}
		}
		o := r.do(c)
		if o.code == 5 && strings.Contains(o.errs, "--mem") {
			r.afterAnalysis(o, out)
			continue
		}
		r.afterAnalysis(o, out)
		if r.expect(o, r.code) {
			r.sameFile(o.String(), out, r.whole)
		}
		r.judgeMemory(o)
		_ = os.Remove(out)
	}
}

// extraHeap is what a process has in memory next to its heap: program text, stacks, the MPI library.
const extraHeap = 96 << 20

// judgeMemory holds a run without the race detector to the memory that it was given.
func (r *round) judgeMemory(o outcome) {
	if r.race != "" && r.raced(o.command) || o.ranks > 0 {
		return
	}
	ranks := int64(1)
	for i, a := range o.args {
		if a == "-j" {
			n, _ := strconv.ParseInt(o.args[i+1], 10, 64)
			ranks = min(n, 8)
		}
	}
	for i, a := range o.args {
		if a == "--mem" && strings.HasSuffix(o.args[i+1], "M") {
			n, _ := strconv.ParseInt(strings.TrimSuffix(o.args[i+1], "M"), 10, 64)
			if most := ranks*n<<20 + extraHeap; o.peak > most {
				r.fail("%s: %d MiB in memory, --mem allows %d on %d ranks and %d in addition", o, o.peak>>20, n, ranks, extraHeap>>20)
			}
		}
	}
}

// stepStatus reads the status file and the progress of a run.
func stepStatus(r *round, x *rand.Rand) {
	out, status := r.path("watched.xtf"), r.path("watched.status")
	o := r.coppice(r.analysis(out, "--status-file", status, "--progress", "json")...)
	r.expect(o, r.code)
	r.expect(r.coppice("info", status), 0)
	_ = os.Remove(out)
	if left, _ := filepath.Glob(status + ".*"); len(left) > 0 {
		r.fail("%s: left behind: %v", o, left)
	}
}
