package extract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

// ErrNoPipeline says that the messages of a run are not those of a pipeline.
var ErrNoPipeline = errors.New("not a pipeline")

const (
	// backPressure is the share of the run for which senders of a stage must wait for the next one to make its buffer limited.
	backPressure = 0.005
	// oneWay: if the bytes between two processes in one direction are so many times those in the other, the other direction is
	// taken for requests and acknowledgements.
	oneWay = 4
)

// stream is the extraction of a pipeline. A stage is the processes with equally many hops before them. Data must go from each
// stage to the next one, as many messages must enter a stage as leave it, and no process may take part in more collective
// operations than it has chunks. The work of a process on a chunk is from the end of one receive to the end of the next, less its
// wait states; in the first stage sends take the place of receives. Computation and file operations of it are the demand of the
// stage, of which each chunk gets its share. Time in calls is the overhead of every chunk.
type stream struct {
	*extraction
	level  []int // stage of a rank; -1: none
	stages [][]int
	chunks [][][]chunk // of a job and stage, by end
}

// chunk is the work of one process on one chunk.
type chunk struct {
	begin, end float64
	busy       float64
	calls      float64 // part of it in calls
	files      float64 // part of it in operations on files
	brought    float64 // bytes that came from other nodes
	hops       float64 // messages with these bytes
}

func (e *extraction) pipeline() error {
	l := &stream{extraction: e}
	if err := l.findStages(); err != nil {
		return err
	}
	l.chunks = make([][][]chunk, len(e.jobs))
	for k := range e.jobs {
		l.chunks[k] = make([][]chunk, len(l.stages))
		for s := range l.stages {
			if err := l.findChunks(k, s); err != nil {
				return err
			}
		}
	}
	if err := l.checkCounts(); err != nil {
		return err
	}
	l.build()
	return nil
}

// findStages puts every rank that sends or receives into a stage.
func (l *stream) findStages() error {
	before, err := l.o.directions()
	if err != nil {
		return err
	}
	order := pipeline.Topological(before)
	if len(order) < len(before) {
		return fmt.Errorf("%w: messages go round in a circle", ErrNoPipeline)
	}
	l.level = make([]int, len(before))
	sends := make([]bool, len(before))
	for _, r := range order {
		for _, from := range before[r] {
			l.level[r] = max(l.level[r], l.level[from]+1)
			sends[from] = true
		}
	}
	for r := range before {
		for _, from := range before[r] {
			if l.level[r] != l.level[from]+1 {
				return fmt.Errorf("%w: process %d of stage %d sends to process %d of stage %d", ErrNoPipeline, from, l.level[from], r, l.level[r])
			}
		}
	}
	idle := 0
	for r, s := range l.level {
		if s == 0 && !sends[r] {
			l.level[r] = -1
			idle++
			continue
		}
		for len(l.stages) <= s {
			l.stages = append(l.stages, nil)
		}
		l.stages[s] = append(l.stages[s], r)
	}
	if len(l.stages) < 2 {
		return fmt.Errorf("%w: no process sends to another one", ErrNoPipeline)
	}
	if idle > 0 {
		l.warn("%d processes without messages are left out", idle)
	}
	return nil
}

// directions returns, for each rank, the ranks that send data to it, in order.
func (o *Run) directions() ([][]int, error) {
	n := len(o.Ranks)
	bytes := make([]map[int]uint64, n) // sent, by receiver
	for r := range o.Ranks {
		bytes[r] = map[int]uint64{}
		for _, m := range o.Ranks[r].Messages {
			if m.Send && m.Peer >= 0 && m.Peer < n && m.Peer != r {
				bytes[r][m.Peer] += m.Bytes + 1
			}
		}
	}
	before := make([][]int, n)
	for r := range bytes {
		for _, to := range slices.Sorted(maps.Keys(bytes[r])) {
			if b, back := bytes[r][to], bytes[to][r]; b/oneWay >= back {
				before[to] = append(before[to], r)
			} else if back/oneWay < b {
				return nil, fmt.Errorf("%w: processes %d and %d send each other about as much", ErrNoPipeline, min(r, to), max(r, to))
			}
		}
	}
	return before, nil
}

// findChunks cuts the time of the ranks of a stage in a job into chunks.
func (l *stream) findChunks(job, stage int) error {
	list := &l.chunks[job][stage]
	for _, r := range l.stages[stage] {
		rank := &l.jobs[job].Ranks[r]
		first := len(*list)
		last := rank.Begin
		var brings []*Message // each brings a chunk or, in the first stage, takes it away
		for i := range rank.Messages {
			m := &rank.Messages[i]
			if m.Peer < 0 || m.Peer >= len(l.level) || l.level[m.Peer] < 0 {
				continue
			}
			forward := m.Send && l.level[m.Peer] == stage+1
			if stage == 0 && forward || stage > 0 && !m.Send && l.level[m.Peer] == stage-1 {
				brings = append(brings, m)
			}
			if forward || !m.Send {
				last = m.End
			}
		}
		if stage == len(l.stages)-1 {
			last = rank.End
		}
		for i, m := range brings {
			c := chunk{begin: m.End, end: last}
			switch {
			case stage == 0 && i == 0:
				c.begin, c.end = rank.Begin, m.End
			case stage == 0:
				c.begin, c.end = brings[i-1].End, m.End
			case i+1 < len(brings):
				c.end = brings[i+1].End
			}
			c.end = max(c.begin, c.end)
			if stage > 0 && l.o.Ranks[m.Peer].Node != l.o.Ranks[r].Node {
				c.brought, c.hops = float64(m.Bytes), 1
			}
			*list = append(*list, c)
		}
		own := (*list)[first:]
		if n := len(own); n < 2 || len(rank.Collectives) > n {
			return fmt.Errorf("%w: process %d works on %d chunks, and takes part in %d collective operations", ErrNoPipeline, r, n, len(rank.Collectives))
		}
		rank.work(own)
	}
	slices.SortStableFunc(*list, func(a, b chunk) int { return cmp.Compare(a.end, b.end) })
	return nil
}

// work computes how long a process was busy in each of its chunks, which are in order.
func (r *Rank) work(chunks []chunk) {
	waits := make([]Span, len(r.Waits))
	for i, w := range r.Waits {
		waits[i] = w.Span
	}
	waiting, calling, files := overlaps(chunks, waits), overlaps(chunks, r.Calls), overlaps(chunks, r.Files)
	both := overlaps(chunks, common(r.Calls, r.Files))
	for i := range chunks {
		c := &chunks[i]
		c.busy = max(0, c.end-c.begin-waiting[i])
		c.files = min(c.busy, files[i])
		c.calls = min(c.busy-c.files, max(0, calling[i]-both[i]-waiting[i]))
	}
}

// overlaps returns how much of each chunk is in spans. Both lists are in order.
func overlaps(chunks []chunk, spans []Span) []float64 {
	list := make([]float64, len(chunks))
	at := 0
	for i, c := range chunks {
		for at < len(spans) && spans[at].End <= c.begin {
			at++
		}
		for s := at; s < len(spans) && spans[s].Begin < c.end; s++ {
			list[i] += max(0, min(c.end, spans[s].End)-max(c.begin, spans[s].Begin))
		}
	}
	return list
}

// common returns the time that is in spans of both lists, which are in order and without overlap.
func common(a, b []Span) (list []Span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (Span{max(a[0].Begin, b[0].Begin), min(a[0].End, b[0].End)}); s.Begin < s.End {
			list = append(list, s)
		}
		if a[0].End < b[0].End {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return list
}

func (l *stream) checkCounts() error {
	first := len(l.chunks[0][0])
	for k, stages := range l.chunks {
		counts := make([]string, len(stages))
		same := true
		for s := range stages {
			counts[s] = fmt.Sprint(len(stages[s]))
			same = same && len(stages[s]) == first
		}
		switch {
		case !same && k == 0:
			return fmt.Errorf("%w: the stages have %s messages", ErrNoPipeline, strings.Join(counts, ", "))
		case !same:
			return fmt.Errorf("%w: the stages of job %d have %s messages, those of the first one %d", ErrNoPipeline, k+1, strings.Join(counts, ", "), first)
		case first > pipeline.MaxTasks/len(stages):
			return fmt.Errorf("%w: %d chunks", pipeline.ErrTooLarge, first)
		}
	}
	return nil
}

func (l *stream) build() {
	p := &pipeline.Pipeline{Chunks: len(l.chunks[0][0])}
	var traced float64
	for _, stages := range l.chunks {
		begin, end := math.Inf(1), 0.0
		for _, list := range stages {
			b, e := during(list)
			begin, end = min(begin, b), max(end, e)
		}
		traced += (end - begin) / float64(len(l.jobs))
	}
	for s, ranks := range l.stages {
		info := l.stage(s)
		whole := float64(p.Chunks)
		cpu, disk := l.centers(s, info.Files > 0)
		st := pipeline.Stage{
			Class: pipeline.Class{
				Name: info.Name, Visits: 1, SCV: info.SCV,
				Demand: []pipeline.Demand{{Center: cpu, Seconds: rounded(max(pipeline.LeastDemand, (info.Busy-info.Overhead-info.Files)*whole))}},
			},
			Workers: len(ranks), Buffer: l.buffer(s, traced), Overhead: []pipeline.Demand{{Center: cpu, Seconds: rounded(info.Overhead)}},
		}
		if info.Files > 0 {
			st.Demand = append(st.Demand, pipeline.Demand{Center: disk, Seconds: rounded(info.Files * whole)})
		}
		l.network(s, &st)
		p.Stages = append(p.Stages, st)
		l.out.Stages, l.out.stage = append(l.out.Stages, info), append(l.out.stage, s)
		if info.SCV > heavyTail {
			l.warn("stage %s varies much (scv %.1f): compare with capacity check", info.Name, info.SCV)
		}
	}
	l.finish(FormPipeline, pipeline.Type{Pipeline: p}, traced)
}

// centers returns the centers of a stage: processor, and disk if it uses files, of the node that it runs on, or centers of its
// own if it runs on several.
func (l *stream) centers(stage int, files bool) (cpu, disk int) {
	ranks := l.stages[stage]
	nodes := map[string]bool{}
	for _, r := range ranks {
		nodes[l.o.Ranks[r].Node] = true
	}
	node := l.o.Ranks[ranks[0]].Node
	if len(nodes) == 1 {
		cpu = l.processor(node)
	} else {
		cpu = l.center(fmt.Sprintf("stage%d.cpu", stage), pipeline.PS, len(ranks))
	}
	switch {
	case files && len(nodes) == 1:
		disk = l.files(node)
	case files:
		disk = l.center(fmt.Sprintf("stage%d.disk", stage), pipeline.FCFS, len(nodes))
	}
	return cpu, disk
}

// network adds the demand of the chunks of a stage that come from other nodes.
func (l *stream) network(stage int, st *pipeline.Stage) {
	var bytes, hops float64
	for _, stages := range l.chunks {
		for _, c := range stages[stage] {
			bytes, hops = bytes+c.brought, hops+c.hops
		}
	}
	if hops == 0 || l.x.Net == nil {
		return
	}
	jobs := float64(len(l.chunks))
	carry, delay := l.message(bytes / jobs)
	carry.Seconds = rounded(carry.Seconds)
	delay.Seconds = rounded(delay.Seconds * hops / jobs / float64(len(l.chunks[0][stage])))
	st.Demand, st.Overhead = append(st.Demand, carry), append(st.Overhead, delay)
}

// during returns the first begin and the last end of chunks, which are in order of their ends.
func during(list []chunk) (begin, end float64) {
	begin = math.Inf(1)
	for _, c := range list {
		begin = min(begin, c.begin)
	}
	return begin, list[len(list)-1].end
}

// stage computes mean and variability of the work on a chunk.
func (l *stream) stage(s int) Stage {
	info := Stage{Name: fmt.Sprintf("stage%d", s), Ranks: l.stages[s], Chunks: len(l.chunks[0][s])}
	var times []float64
	jobs := float64(len(l.chunks))
	for _, stages := range l.chunks {
		for _, c := range stages[s] {
			times = append(times, c.busy)
			info.Overhead += c.calls
			info.Files += c.files
			info.Waited += (c.end - c.begin - c.busy) / jobs
		}
		begin, end := during(stages[s])
		info.Traced += (end - begin) / jobs
	}
	x := sampleOf(times)
	info.Overhead /= float64(x.n)
	info.Files /= float64(x.n)
	info.Busy, info.SCV, info.Outliers = x.mean, x.scv, x.outliers
	if info.Outliers > 0 {
		l.warn("%s: %d of %d chunks are left out of its variability", info.Name, info.Outliers, x.n)
	}
	return info
}

// buffer is the most chunks that a stage had begun and the next one had not finished, if its sends waited for the next stage;
// else the buffer is unbounded.
func (l *stream) buffer(s int, span float64) int {
	if s == len(l.stages)-1 {
		return pipeline.Unbounded
	}
	var waited float64
	most := 1
	for k, job := range l.jobs {
		for _, r := range l.stages[s] {
			for _, w := range job.Ranks[r].Waits {
				if w.InSend {
					waited += w.End - w.Begin
				}
			}
		}
		most = max(most, ahead(l.chunks[k][s], l.chunks[k][s+1]))
	}
	if waited/float64(len(l.stages[s])*len(l.jobs)) < backPressure*span {
		return pipeline.Unbounded
	}
	return most
}

// ahead is the most chunks that a stage had begun and the next one had not finished.
func ahead(these, next []chunk) int {
	begins := make([]float64, 0, len(these))
	for _, c := range these {
		begins = append(begins, c.begin)
	}
	consumed := make([]float64, 0, len(next)) // without the wait for the next chunk that follows it
	for _, c := range next {
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
