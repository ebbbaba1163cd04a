package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// action is a command line that a person types, and what is read off its answer: named groups of patterns, one after the other. {NAME} in
// both is what was read before.
type action struct {
	command string
	read    []string
}

// question is what somebody wants to know of an archive: the actions, what they come to, and the same from the events as otf2-print has them.
type question struct {
	archive, text string
	actions       []action
	answer        string
	want          func(*listing) string
}

const mostActions = 5

// listing is an archive as otf2-print prints it: the calls of each location with times since the first event, in their order of begin.
type listing struct {
	first, last uint64
	calls       [][]listedCall
	sends       map[[2]int]int // messages by sender and receiver
	late        []uint64       // of each location: what its blocking receives wait for senders
	lives       [][2]uint64    // first and last event of each location
}

type listedCall struct {
	region     string
	begin, end uint64
	parent     int // -1: none
	exclusive  uint64
}

var listedRecord = regexp.MustCompile(`^(ENTER|LEAVE|MPI_SEND|MPI_RECV|PROGRAM_BEGIN|PROGRAM_END)\s+(\d+)\s+(\d+)\s*(?:Region: "([^"]*)"|(?:Receiver|Sender): (\d+) \([^)]*\), Communicator: [^,]*, Tag: (\d+))?`)

// listEvents runs otf2-print. Time zero is the first event of any location, ticks are nanoseconds in the archives that are asked about.
func listEvents(t *testing.T, tool, path string) *listing {
	t.Helper()
	out, err := exec.Command(tool, path).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", tool, path, err)
	}
	l := &listing{first: math.MaxUint64, sends: map[[2]int]int{}}
	open := map[int][]int{}
	sent, received := map[[3]int][]uint64{}, map[[3]int][]int{} // begins of calls that send; calls that receive
	s := bufio.NewScanner(bytes.NewReader(out))
	for s.Scan() {
		m := listedRecord.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		p, _ := strconv.Atoi(m[2])
		at, _ := strconv.ParseUint(m[3], 10, 64)
		l.first, l.last = min(l.first, at), max(l.last, at)
		for len(l.calls) <= p {
			l.calls, l.late, l.lives = append(l.calls, nil), append(l.late, 0), append(l.lives, [2]uint64{math.MaxUint64, 0})
		}
		l.lives[p] = [2]uint64{min(l.lives[p][0], at), max(l.lives[p][1], at)}
		stack := open[p]
		top := len(stack) - 1
		switch m[1] {
		case "ENTER":
			parent := -1
			if top >= 0 {
				parent = stack[top]
			}
			open[p] = append(stack, len(l.calls[p]))
			l.calls[p] = append(l.calls[p], listedCall{m[4], at, 0, parent, 0})
		case "LEAVE":
			c := &l.calls[p][stack[top]]
			c.end = at
			c.exclusive += at - c.begin
			if c.parent >= 0 {
				l.calls[p][c.parent].exclusive -= at - c.begin
			}
			open[p] = stack[:top]
		case "MPI_SEND":
			q, _ := strconv.Atoi(m[5])
			tag, _ := strconv.Atoi(m[6])
			l.sends[[2]int{p, q}]++
			sent[[3]int{p, q, tag}] = append(sent[[3]int{p, q, tag}], l.calls[p][stack[top]].begin)
		case "MPI_RECV":
			q, _ := strconv.Atoi(m[5])
			tag, _ := strconv.Atoi(m[6])
			received[[3]int{q, p, tag}] = append(received[[3]int{q, p, tag}], stack[top])
		}
	}
	for channel, calls := range received {
		for i, n := range calls {
			c := l.calls[channel[1]][n]
			l.late[channel[1]] += min(max(c.begin, sent[channel][i]), c.end) - c.begin
		}
	}
	for p := range l.calls {
		for i := range l.calls[p] {
			l.calls[p][i].begin -= l.first
			l.calls[p][i].end -= l.first
		}
	}
	l.last -= l.first
	return l
}

// of are the calls of a region on a location.
func (l *listing) of(p int, region string) (list []listedCall) {
	for _, c := range l.calls[p] {
		if c.region == region {
			list = append(list, c)
		}
	}
	return list
}

// mpi is the time of a location in outermost calls of MPI within a span, ticks.
func (l *listing) mpi(p int, begin, end uint64) (sum uint64) {
	for _, c := range l.calls[p] {
		if strings.HasPrefix(c.region, "MPI_") && (c.parent < 0 || !strings.HasPrefix(l.calls[p][c.parent].region, "MPI_")) && c.begin < end && c.end > begin {
			sum += min(c.end, end) - max(c.begin, begin)
		}
	}
	return sum
}

// stack are the regions that are open at a time, the outermost one first.
func (l *listing) stack(p int, at uint64) (list []string) {
	for _, c := range l.calls[p] {
		if c.begin <= at && at < c.end {
			list = append(list, c.region)
		}
	}
	return list
}

// most is the location with the largest value, and the value.
func (l *listing) most(of func(p int) uint64) (at int, value uint64) {
	for p := range l.calls {
		if v := of(p); v > value {
			at, value = p, v
		}
	}
	return at, value
}

func inSeconds(ticks uint64) string { return fmt.Sprintf("%.6f", float64(ticks)/1e9) }

// questions are what people ask first, each with no more than mostActions.
var questions = []question{
	{
		"npb-mg.S-func-16", "Which rank is late at the third MPI_Allreduce, and in which function?",
		[]action{
			{"query RUN rows --type coll --rank 0 --limit 200", []string{`(?m)(?:^.* MPI_Allreduce .*$[\s\S]*?){2}^ *(?P<n>\d+) +\d.* MPI_Allreduce `}},
			{"query RUN members --type coll --rank 0 --n {n}", []string{`(?m)^ +0 +0 +{n} +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +(?P<last>\d+) `, `(?m)^ +(?P<rank>\d+) +0 +\d+ +{last} `}},
			{"query RUN stack --rank {rank} --time #{last}", []string{`(?m)^ *\d+ +(?P<function>\S+) .*\n *\d+ +MPI_Allreduce `}},
		},
		"rank {rank} in {function}",
		func(l *listing) string {
			p, at := l.most(func(p int) uint64 { return l.of(p, "MPI_Allreduce")[2].begin })
			stack := l.stack(p, at)
			return fmt.Sprintf("rank %d in %s", p, stack[len(stack)-2])
		},
	},
	{
		"npb-mg.S-func-16", "In which function of the program is rank 3 longest, without what it calls?",
		[]action{{"report RUN profile --ranks 3", []string{`(?m)^(?P<function>[a-z]\w*) .*%`}}},
		"{function}",
		func(l *listing) string {
			sums := map[string]uint64{}
			for _, c := range l.calls[3] {
				if !strings.HasPrefix(c.region, "MPI_") {
					sums[c.region] += c.exclusive
				}
			}
			return slices.MaxFunc(slices.Collect(maps.Keys(sums)), func(a, b string) int { return int(sums[a]) - int(sums[b]) })
		},
	},
	{
		"npb-mg.S-func-16", "Which rank computes longest, and how long?",
		[]action{{"report RUN", []string{`(?m)^CPU +\d\S+ +\S+ % +\S+ +\S+ +@\d+ +(?P<seconds>\S+) +@(?P<rank>\d+)`}}},
		"rank {rank} {seconds}",
		func(l *listing) string {
			p, most := l.most(func(p int) uint64 { return l.lives[p][1] - l.lives[p][0] - l.mpi(p, 0, l.last) })
			return fmt.Sprintf("rank %d %s", p, inSeconds(most))
		},
	},
	{
		"npb-lu.S-func-4", "What is rank 2 in at 0.32 s?",
		[]action{{"query RUN stack --rank 2 --time 0.32s", []string{`(?m)^ +0 +(?P<a>\S+) .*\n +1 +(?P<b>\S+) .*\n +2 +(?P<c>\S+) .*\n +3 +(?P<d>\S+) `}}},
		"{a} {b} {c} {d}",
		func(l *listing) string { return strings.Join(l.stack(2, 320_000_000), " ") },
	},
	{
		"npb-lu.S-func-4", "How often is exchange_1 called on rank 0, and how long does it take in all?",
		[]action{{"report RUN profile --ranks 0 --limit 100", []string{`(?m)^exchange_1 +\S*exchange\S* +(?P<calls>\d[\d ]*\d) +\S+ +\S+ % +(?P<seconds>\S+)`}}},
		"{calls} {seconds}",
		func(l *listing) string {
			sum, list := uint64(0), l.of(0, "exchange_1")
			for _, c := range list {
				sum += c.end - c.begin
			}
			return fmt.Sprintf("%d %s", len(list), inSeconds(sum))
		},
	},
	{
		"npb-lu.S-func-4", "How many messages go from rank 1 to rank 3?",
		[]action{{"report RUN comm", []string{`(?m)^ +1 +3 +(?P<n>[\d ]+?)  `}}},
		"{n}",
		func(l *listing) string { return strconv.Itoa(l.sends[[2]int{1, 3}]) },
	},
	{
		"sweep3d-8", "Which rank waits longest for late senders, and how long?",
		[]action{{"report RUN waits", []string{`(?m)^late_sender .* (?P<seconds>\S+) +@(?P<rank>\d+)`}}},
		"rank {rank} {seconds}",
		func(l *listing) string {
			p, most := l.most(func(p int) uint64 { return l.late[p] })
			return fmt.Sprintf("rank %d %s", p, inSeconds(most))
		},
	},
	{
		"sweep3d-8", "When does rank 0 come to its tenth MPI_Allreduce?",
		[]action{{"query RUN instance --rank 0 --region MPI_Allreduce -n 9", []string{`(?m)^(?P<begin>\S+) s to `}}},
		"{begin}",
		func(l *listing) string { return inSeconds(l.of(0, "MPI_Allreduce")[9].begin) },
	},
	{
		"sweep3d-8", "Which rank is longest in MPI_Recv?",
		[]action{{"report RUN profile --limit 100", []string{`(?m)^MPI_Recv .* (?P<seconds>\S+) +@(?P<rank>\d+) `}}},
		"rank {rank} {seconds}",
		func(l *listing) string {
			p, most := l.most(func(p int) (sum uint64) {
				for _, c := range l.of(p, "MPI_Recv") {
					sum += c.end - c.begin
				}
				return sum
			})
			return fmt.Sprintf("rank %d %s", p, inSeconds(most))
		},
	},
	{
		"lammps-melt-4", "Which part of the processes' time between start and end of MPI is computation?",
		[]action{{"report RUN pop", []string{`(?m)^whole program +4 +\S+ +(?P<parallel>\S+)`}}},
		"{parallel}",
		func(l *listing) string {
			useful, runtime := uint64(0), uint64(0)
			for p, life := range l.lives {
				setup := l.of(p, "MPI_Init")[0].end - l.of(p, "MPI_Init")[0].begin + l.of(p, "MPI_Finalize")[0].end - l.of(p, "MPI_Finalize")[0].begin
				lives := life[1] - life[0]
				useful += lives - l.mpi(p, 0, l.last)
				runtime = max(runtime, lives-setup)
			}
			return fmt.Sprintf("%.3f", float64(useful)/4/float64(runtime))
		},
	},
	{
		"lammps-melt-4", "How long is rank 0 in MPI in the ninth tenth of the run?",
		[]action{{"query RUN window --time 80%..90% --ranks 0", []string{`(?m)^mpi +(?P<seconds>\S+)`}}},
		"{seconds}",
		func(l *listing) string { return inSeconds(l.mpi(0, (l.last+1)*8/10, (l.last+1)*9/10)) },
	},
	{
		"lammps-melt-4", "How many calls of MPI_Allreduce are there on all ranks?",
		[]action{{"report RUN comm", []string{`(?m)^MPI_Allreduce +(?P<calls>\d[\d ]*?)  `}}},
		"{calls}",
		func(l *listing) string {
			n := 0
			for p := range l.calls {
				n += len(l.of(p, "MPI_Allreduce"))
			}
			return strconv.Itoa(n)
		},
	},
}

// TestUsability asks twelve questions about four real archives, each answered by few command lines of which every number is read off the text that a
// person sees, and compares the answers with what follows from the events that otf2-print prints.
func TestUsability(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	traces := sharedTraces(t)
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian: otf2-tools)")
	}
	answers := "testdata/usability.tsv" // archive, question, answer: the test of the viewer in bench/browser reads them
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	runs, listings, told := map[string]string{}, map[string]*listing{}, ""
	for _, q := range questions {
		if runs[q.archive] == "" {
			anchor := filepath.Join(traces, q.archive, "traces.otf2")
			runs[q.archive] = filepath.Join(t.TempDir(), "run.xtf")
			must(t, "analyze", "-q", anchor, "-o", runs[q.archive])
			listings[q.archive] = listEvents(t, tool, anchor)
		}
		t.Run(q.text, func(t *testing.T) {
			if len(q.actions) > mostActions {
				t.Errorf("%d actions", len(q.actions))
			}
			read := map[string]string{}
			fill := func(text string) string {
				for name, value := range read {
					text = strings.ReplaceAll(text, "{"+name+"}", value)
				}
				return text
			}
			for _, a := range q.actions {
				args := strings.Fields(fill(a.command))
				args[1] = runs[q.archive]
				out := must(t, args...)
				for _, pattern := range a.read {
					x := regexp.MustCompile(fill(pattern))
					m := x.FindStringSubmatch(out)
					if m == nil {
						t.Fatalf("%s: no %s in\n%s", strings.Join(args, " "), x, out)
					}
					for i, name := range x.SubexpNames()[1:] {
						read[name] = m[i+1]
					}
				}
			}
			told += q.archive + "\t" + q.text + "\t" + q.want(listings[q.archive]) + "\n"
			if got, want := strings.ReplaceAll(fill(q.answer), " ", ""), strings.ReplaceAll(q.want(listings[q.archive]), " ", ""); got != want {
				t.Errorf("%s: %s, by otf2-print %s", q.archive, got, want)
			}
		})
	}
	if told != string(text) {
		t.Errorf("%s should be\n%s", answers, told)
	}
}

// TestLinkedAnchor reads an archive by a link to its anchor file alone, which has another name.
func TestLinkedAnchor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", filepath.Join(dir, "run"), "--spec", "ring:procs=4,events=4k")
	link := filepath.Join(dir, "last.otf2")
	if err := os.Symlink(filepath.Join("run", "traces.otf2"), link); err != nil {
		t.Fatal(err)
	}
	must(t, "analyze", link, "-o", filepath.Join(dir, "a.xtf"), "-q")
	must(t, "analyze", filepath.Join(dir, "run"), "-o", filepath.Join(dir, "b.xtf"), "-q")
	if out := must(t, "diff", filepath.Join(dir, "a.xtf"), filepath.Join(dir, "b.xtf")); out == "" {
		t.Error("no comparison")
	}
}
