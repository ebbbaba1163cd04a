package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrNoPipeline means that the messages of a run are not those of a pipeline.
var ErrNoPipeline = errors.New("not a pipeline")

// Observed is a recorded run of one job: what extraction of a model starts from. Times are seconds.
type Observed struct {
	Input string // what the run is known by
	Ranks []ObservedRank
}

// ObservedRank is one process.
type ObservedRank struct {
	Node       string // that it ran on
	Begin, End float64
	Messages   []ObservedMessage // in the order in which they end
	Waits      []ObservedWait    // in order, without overlap; they lie in calls
	Calls      []ObservedSpan    // of the message library, in order, without overlap
}

// ObservedMessage is one side of a message.
type ObservedMessage struct {
	Peer  int // rank
	Send  bool
	End   float64 // of the call that completes it here
	Bytes uint64
}

// ObservedSpan is a piece of time.
type ObservedSpan struct{ Begin, End float64 }

// ObservedWait is time in which a process waited for another one.
type ObservedWait struct {
	ObservedSpan
	InSend bool // for a receiver that was not ready
}

// ExtractOptions complete what a trace does not say.
type ExtractOptions struct {
	Cores int // of every node; 0: one for each process there
	Seed  uint64
}

// Extracted is a model and how well it tells the run that it comes from.
type Extracted struct {
	Model     *Model
	Traced    float64    // response of the job in the trace, seconds
	Predicted float64    // and by the model
	Runs      []RunCheck // the same for each of several runs
	Stages    []ExtractedStage
	Warnings  []string
}

// ExtractedStage is a stage and what of it was seen.
type ExtractedStage struct {
	Name      string
	Ranks     []int
	Chunks    int
	Busy      float64 // seconds per chunk
	Overhead  float64 // of it in calls of the message library
	SCV       float64
	Outliers  int // chunks left out of SCV
	Waited    float64
	Traced    float64 // from the begin of the first chunk to the end of the last one
	Predicted float64 // the same by the model, without waiting for processors
}

// Gap is the difference of both, relative to the trace.
func (s *ExtractedStage) Gap() float64 { return s.Predicted/s.Traced - 1 }

const (
	// outlierDeviations are left out of the variability of a stage.
	outlierDeviations = 5
	// heavyTail is a variability from which a warning is given.
	heavyTail = 4
	// backPressure is the part of the run that senders of a stage wait for the next one, from which its buffer is limited.
	backPressure = 0.005
	// oneWay is how many times the bytes of one direction between two processes are those of the other, where the other is
	// taken for requests and acknowledgements.
	oneWay = 4
)

// extraction is one under way.
type extraction struct {
	o      *Observed
	out    *Extracted
	level  []int // stage of a rank; -1: none
	stages [][]int
	chunks [][]chunk // of a stage, by end
}

// chunk is the work of one process on one chunk.
type chunk struct {
	rank       int
	begin, end float64
	busy       float64
	calls      float64 // of it in calls
}

// Extract makes a model of a recorded pipeline. Stages are the processes with equally many hops before them: data must
// go from each stage to the next one, and as many messages must enter a stage as leave it. What a process does from the end
// of one receive to the end of the next one, less its wait states, is its work on a chunk; in the first stage sends take the
// place of receives. What of it is computation is the demand of the stage, in which the chunks share; the time in calls is
// the overhead of every chunk.
func Extract(ctx context.Context, o *Observed, x ExtractOptions) (*Extracted, error) {
	e := &extraction{o: o, out: &Extracted{}}
	if err := e.findStages(); err != nil {
		return nil, err
	}
	for s := range e.stages {
		e.findChunks(s)
	}
	if err := e.checkCounts(); err != nil {
		return nil, err
	}
	e.build(x)
	return e.out, e.selfCheck(ctx, x)
}

func (e *extraction) warn(format string, args ...any) {
	e.out.Warnings = append(e.out.Warnings, fmt.Sprintf(format, args...))
}

// findStages puts every rank that sends or receives into a stage.
func (e *extraction) findStages() error {
	n := len(e.o.Ranks)
	bytes := make([]map[int]uint64, n) // sent, by receiver
	for r := range e.o.Ranks {
		bytes[r] = map[int]uint64{}
		for _, m := range e.o.Ranks[r].Messages {
			if m.Send && m.Peer >= 0 && m.Peer < n && m.Peer != r {
				bytes[r][m.Peer] += m.Bytes + 1
			}
		}
	}
	next, before := make([][]int, n), make([]int, n)
	for r := range bytes {
		for to, b := range bytes[r] {
			if back := bytes[to][r]; b/oneWay >= back {
				next[r] = append(next[r], to)
				before[to]++
			} else if back/oneWay < b {
				return fmt.Errorf("%w: processes %d and %d send each other about as much", ErrNoPipeline, min(r, to), max(r, to))
			}
		}
	}
	e.level = make([]int, n)
	var order []int
	for r := range n {
		slices.Sort(next[r])
		if before[r] == 0 {
			order = append(order, r)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, to := range next[order[i]] {
			e.level[to] = max(e.level[to], e.level[order[i]]+1)
			if before[to]--; before[to] == 0 {
				order = append(order, to)
			}
		}
	}
	if len(order) < n {
		return fmt.Errorf("%w: messages go round in a circle", ErrNoPipeline)
	}
	for r := range n {
		for _, to := range next[r] {
			if e.level[to] != e.level[r]+1 {
				return fmt.Errorf("%w: process %d of stage %d sends to process %d of stage %d", ErrNoPipeline, r, e.level[r], to, e.level[to])
			}
		}
	}
	return e.collect(next)
}

// collect makes the lists of ranks by stage.
func (e *extraction) collect(next [][]int) error {
	idle := 0
	for r := range e.level {
		if e.level[r] == 0 && len(next[r]) == 0 {
			e.level[r] = -1
			idle++
			continue
		}
		for len(e.stages) <= e.level[r] {
			e.stages = append(e.stages, nil)
		}
		e.stages[e.level[r]] = append(e.stages[e.level[r]], r)
	}
	if len(e.stages) < 2 {
		return fmt.Errorf("%w: no process sends to another one", ErrNoPipeline)
	}
	if idle > 0 {
		e.warn("%d processes without messages are left out", idle)
	}
	e.chunks = make([][]chunk, len(e.stages))
	return nil
}

// findChunks cuts the time of the ranks of a stage into chunks.
func (e *extraction) findChunks(stage int) {
	for _, r := range e.stages[stage] {
		rank := &e.o.Ranks[r]
		var ends []float64 // of what brings or takes away a chunk
		last := rank.Begin
		for _, m := range rank.Messages {
			if m.Peer < 0 || m.Peer >= len(e.level) || e.level[m.Peer] < 0 {
				continue
			}
			forward := m.Send && e.level[m.Peer] == stage+1
			if stage == 0 && forward || stage > 0 && !m.Send && e.level[m.Peer] == stage-1 {
				ends = append(ends, m.End)
			}
			if forward || !m.Send {
				last = m.End
			}
		}
		if stage == len(e.stages)-1 {
			last = rank.End
		}
		first := len(e.chunks[stage])
		for i, t := range ends {
			c := chunk{rank: r, begin: t, end: last}
			switch {
			case stage == 0 && i == 0:
				c.begin, c.end = rank.Begin, t
			case stage == 0:
				c.begin, c.end = ends[i-1], t
			case i+1 < len(ends):
				c.end = ends[i+1]
			}
			c.end = max(c.begin, c.end)
			e.chunks[stage] = append(e.chunks[stage], c)
		}
		rank.work(e.chunks[stage][first:])
	}
	slices.SortStableFunc(e.chunks[stage], func(a, b chunk) int { return cmp.Compare(a.end, b.end) })
}

// work computes how long a process was busy in each of its chunks, which are in order.
func (r *ObservedRank) work(chunks []chunk) {
	waits := make([]ObservedSpan, len(r.Waits))
	for i, w := range r.Waits {
		waits[i] = w.ObservedSpan
	}
	waiting, calling := overlaps(chunks, waits), overlaps(chunks, r.Calls)
	for i := range chunks {
		c := &chunks[i]
		c.busy = max(0, c.end-c.begin-waiting[i])
		c.calls = min(c.busy, max(0, calling[i]-waiting[i]))
	}
}

// overlaps is, for each chunk, how much of it lies in spans. Both are in order.
func overlaps(chunks []chunk, spans []ObservedSpan) []float64 {
	list := make([]float64, len(chunks))
	at := 0
	for i, c := range chunks {
		for at < len(spans) && spans[at].End <= c.begin {
			at++
		}
		for s := at; s < len(spans) && spans[s].Begin < c.end; s++ {
			list[i] += min(c.end, spans[s].End) - max(c.begin, spans[s].Begin)
		}
	}
	return list
}

func (e *extraction) checkCounts() error {
	var counts []string
	same := true
	for s := range e.chunks {
		counts = append(counts, fmt.Sprint(len(e.chunks[s])))
		same = same && len(e.chunks[s]) == len(e.chunks[0])
	}
	switch {
	case !same:
		return fmt.Errorf("%w: the stages have %s messages", ErrNoPipeline, strings.Join(counts, ", "))
	case len(e.chunks[0]) > MaxTasks/len(e.stages):
		return fmt.Errorf("%w: %d chunks", ErrTooLarge, len(e.chunks[0]))
	}
	return nil
}

// build makes the model.
func (e *extraction) build(x ExtractOptions) {
	m := &Model{Origin: &Origin{Input: e.o.Input, SelfCheckError: math.NaN()}}
	p := &Pipeline{Chunks: len(e.chunks[0])}
	nodes := map[string]int{}
	first, last := math.Inf(1), 0.0
	for s := range e.stages {
		first, last = min(first, e.first(s)), max(last, e.last(s))
	}
	for s, ranks := range e.stages {
		info := e.stage(s)
		st := Stage{Name: info.Name, Visits: 1, Workers: len(ranks), SCV: info.SCV, Buffer: e.buffer(s, last-first)}
		k := e.center(m, nodes, ranks)
		st.Demand = []Demand{{k, rounded(max(leastDemand, (info.Busy-info.Overhead)*float64(p.Chunks)))}}
		st.Overhead = []Demand{{k, rounded(info.Overhead)}}
		p.Stages = append(p.Stages, st)
		e.out.Stages = append(e.out.Stages, info)
		if info.SCV > heavyTail {
			e.warn("stage %s varies much (scv %.1f): compare with capacity check", info.Name, info.SCV)
		}
	}
	for name, k := range nodes {
		used := 0
		for r, l := range e.level {
			if l >= 0 && e.o.Ranks[r].Node == name {
				used++
			}
		}
		m.Centers[k].Servers = max(1, used)
		if x.Cores > 0 {
			m.Centers[k].Servers = x.Cores
		}
	}
	m.Types = []Type{{Jobs: 1, Pipeline: p}}
	m.Origin.Window = [2]float64{rounded(first), rounded(last)}
	e.out.Model, e.out.Traced = m, last-first
}

// rounded is a number with the digits that are worth reading.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// center is the processor of the node that a stage is on, or one of its own where it is on several.
func (e *extraction) center(m *Model, nodes map[string]int, ranks []int) int {
	node := e.o.Ranks[ranks[0]].Node
	for _, r := range ranks {
		if e.o.Ranks[r].Node != node {
			m.Centers = append(m.Centers, Center{fmt.Sprintf("stage%d.cpu", e.level[ranks[0]]), PS, len(ranks)})
			return len(m.Centers) - 1
		}
	}
	k, ok := nodes[node]
	if !ok {
		k = len(m.Centers)
		nodes[node] = k
		name := node + ".cpu"
		if slices.ContainsFunc(m.Centers, func(c Center) bool { return c.Name == name }) {
			name = fmt.Sprintf("%s.%d", name, k)
		}
		m.Centers = append(m.Centers, Center{name, PS, 1})
	}
	return k
}

// first and last are the begin of the first and the end of the last chunk of a stage.
func (e *extraction) first(stage int) float64 {
	t := math.Inf(1)
	for _, c := range e.chunks[stage] {
		t = min(t, c.begin)
	}
	return t
}

func (e *extraction) last(stage int) float64 { return e.chunks[stage][len(e.chunks[stage])-1].end }

// stage computes mean and variability of the work on a chunk.
func (e *extraction) stage(s int) ExtractedStage {
	info := ExtractedStage{Name: fmt.Sprintf("stage%d", s), Ranks: e.stages[s], Chunks: len(e.chunks[s])}
	var sum, squares, kept, calls float64
	for _, c := range e.chunks[s] {
		sum += c.busy
		calls += c.calls
		info.Waited += c.end - c.begin - c.busy
	}
	n := float64(info.Chunks)
	info.Busy, info.Overhead = sum/n, calls/n
	for _, c := range e.chunks[s] {
		squares += square(c.busy - info.Busy)
	}
	limit := outlierDeviations * math.Sqrt(squares/n)
	squares, sum = 0, 0
	for _, c := range e.chunks[s] {
		if math.Abs(c.busy-info.Busy) > limit {
			info.Outliers++
			continue
		}
		kept++
		sum += c.busy
		squares += square(c.busy)
	}
	if mean := sum / kept; mean > 0 {
		info.SCV = rounded(min(MaxSCV, max(0, squares/kept/square(mean)-1)))
	}
	if info.Outliers > 0 {
		e.warn("%s: %d of %d chunks are left out of its variability", info.Name, info.Outliers, info.Chunks)
	}
	info.Traced = e.last(s) - e.first(s)
	return info
}

// buffer is the most chunks that a stage had begun and the next one had not finished, where its sends waited for the next
// stage; else it is unbounded.
func (e *extraction) buffer(s int, span float64) int {
	if s == len(e.stages)-1 {
		return Unbounded
	}
	var waited float64
	for _, r := range e.stages[s] {
		for _, w := range e.o.Ranks[r].Waits {
			if w.InSend {
				waited += w.End - w.Begin
			}
		}
	}
	if waited/float64(len(e.stages[s])) < backPressure*span {
		return Unbounded
	}
	begins := make([]float64, 0, len(e.chunks[s]))
	for _, c := range e.chunks[s] {
		begins = append(begins, c.begin)
	}
	consumed := make([]float64, 0, len(e.chunks[s+1])) // without the wait for the next chunk that follows
	for _, c := range e.chunks[s+1] {
		consumed = append(consumed, c.begin+c.busy)
	}
	slices.Sort(begins)
	slices.Sort(consumed)
	most, done := 1, 0
	for i, t := range begins {
		for done < len(consumed) && consumed[done] <= t {
			done++
		}
		most = max(most, i+1-done)
	}
	return most
}

// selfCheck predicts the traced run.
func (e *extraction) selfCheck(ctx context.Context, x ExtractOptions) error {
	a, err := Solve(ctx, e.out.Model, Options{Seed: x.Seed})
	if err != nil {
		return err
	}
	e.out.Predicted = a.Types[0].Response
	e.out.Model.Origin.SelfCheckError = rounded(e.out.Predicted/e.out.Traced - 1)
	e.out.stageSpans()
	return nil
}

// stageSpans predicts from when to when each stage works.
func (e *Extracted) stageSpans() {
	short, _ := e.Model.lengths()
	begin, end := e.Model.compile(short).jobs[0].spans()
	for s := range e.Stages {
		// Where the pipeline is shortened, the rate is the same.
		e.Stages[s].Predicted = (end[s] - begin[s]) * float64(e.Model.Types[0].Pipeline.Chunks) / float64(short[0])
	}
}

// spans are the first begin and the last end of the tasks of each class, were all times means and no task waited.
func (j *job) spans() (begin, end []float64) {
	begin, end = make([]float64, len(j.classes)), make([]float64, len(j.classes))
	for c := range begin {
		begin[c] = math.Inf(1)
	}
	ends := make([]float64, j.g.tasks())
	for i := range int32(j.g.tasks()) {
		var start float64
		for _, p := range j.g.preds(i) {
			start = max(start, ends[p])
		}
		c := j.g.class[i]
		ends[i] = start + j.total[c]
		begin[c], end[c] = min(begin[c], start), max(end[c], ends[i])
	}
	return begin, end
}

// Worst is the stage with the largest gap.
func (e *Extracted) Worst() *ExtractedStage {
	var worst *ExtractedStage
	for i := range e.Stages {
		if s := &e.Stages[i]; worst == nil || math.Abs(s.Gap()) > math.Abs(worst.Gap()) {
			worst = s
		}
	}
	return worst
}
