package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
)

// reportEvery is how often a rank reports its progress to its parent in the tree of ranks.
const reportEvery = 2 * time.Second

const tagProgress = 11

// Progress is the progress of a stage, from the ranks' last reports.
type Progress struct {
	Stage       string
	Done, Total uint64 // bytes, of all ranks
	Ranks       int
	Slowest     int           // the rank with the smallest share done
	Share       float64       // of the slowest rank
	Elapsed     time.Duration // in the stage
	End         bool          // the stage has ended

	From, To float64       // about the share of the whole job before the stage and after it; To is 0 without a plan
	Begin    float64       // the share of the job that was done when this process began
	Running  time.Duration // since then
}

// Cost is an estimate of the processor time of a stage, in any unit.
type Cost struct {
	Stage string
	Cost  float64
}

// Meter counts the work of one rank. The counts go up a binomial tree of ranks, and no rank waits for them: every two seconds a rank takes
// the counts of its children and sends those of its subtree to its parent, also while it waits for others.
type Meter struct {
	end   chan struct{}  // closed by Close
	ended sync.WaitGroup // of the goroutine that reports

	mu      sync.Mutex // guards all below
	comm    mpi.Comm
	show    func(Progress) // on rank 0
	parent  int            // -1 on rank 0
	kids    map[int]tally  // by child
	own     tally          // of this rank
	all     uint64         // bytes of the stage, of all ranks
	stage   string
	number  uint64    // of the stage
	began   time.Time // the stage
	next    time.Time // of the next report
	pending *mpi.Request
	plan    []Cost
	started time.Time
	from    [3]float64 // shares of the job: before its first stage, before the current stage, and after it
	Dog     *Watchdog  // gets stages and signs of life too; nil for none
}

// tally is the counts of a rank, or of a subtree, in a stage.
type tally struct {
	stage, done, total uint64
	slowest            int
	share              uint64 // of slowest, in units of 2^-32
}

// NewMeter prepares the meter of a rank. Until Close nothing else may make collective calls on c, or use the meter's tag. The meter calls
// show on rank 0, from one goroutine at a time; nil shows nothing.
func NewMeter(c mpi.Comm, show func(Progress)) *Meter {
	m := &Meter{comm: c, show: show, parent: -1, kids: map[int]tally{}, end: make(chan struct{})}
	if r := c.Rank(); r != 0 {
		m.parent = r & (r - 1)
	}
	if c.Size() > 1 {
		every := time.NewTicker(reportEvery)
		m.reportAt(every.C, every.Stop)
	}
	return m
}

// reportAt reports at each tick, until Close.
func (m *Meter) reportAt(ticks <-chan time.Time, stop func()) {
	m.ended.Go(func() {
		defer stop()
		for {
			select {
			case <-m.end:
				return
			case now := <-ticks:
				m.mu.Lock()
				m.report(now)
				m.mu.Unlock()
			}
		}
	})
}

// report exchanges counts if it is time for that.
func (m *Meter) report(now time.Time) {
	if m.stage != "" && now.After(m.next) {
		m.next = now.Add(reportEvery)
		m.exchange()
	}
}

// Plan sets the stages to come, in their order, so that Progress can tell the share of the whole job.
func (m *Meter) Plan(stages []Cost) { m.plan = stages }

// enter sets the shares of the job before and after a stage. A stage that is not planned has no share.
func (m *Meter) enter(stage string) {
	i := slices.IndexFunc(m.plan, func(c Cost) bool { return c.Stage == stage })
	if i < 0 {
		m.from[1] = m.from[2]
		return
	}
	sum := make([]float64, len(m.plan)+1)
	for k, c := range m.plan {
		sum[k+1] = sum[k] + c.Cost
	}
	whole := sum[len(m.plan)]
	m.from[1], m.from[2] = sum[i]/whole, sum[i+1]/whole
	if m.started.IsZero() {
		m.started, m.from[0] = time.Now(), m.from[1]
	}
}

// Stage begins a stage with own bytes of work for this rank, and all bytes for all ranks together.
func (m *Meter) Stage(name string, own, all uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endStage()
	m.enter(name)
	m.stage, m.began = name, time.Now()
	m.number++
	m.own, m.all = tally{stage: m.number, total: own, slowest: m.comm.Rank()}, all
	m.next = m.began.Add(reportEvery)
	m.display(false)
	if m.Dog != nil {
		m.Dog.Enter(name)
	}
}

// Add counts n bytes done.
func (m *Meter) Add(n uint64) {
	if m.Dog != nil {
		m.Dog.Alive()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own.done = min(m.own.done+n, m.own.total)
	m.report(time.Now())
}

// exchange takes the counts of the children, and sends those of the subtree to the parent.
func (m *Meter) exchange() {
	for {
		b, st, ok, err := m.comm.TryRecv(mpi.AnySource, tagProgress)
		if err != nil || !ok {
			break
		}
		if v := TakeWords[uint64](b); len(v) == 5 {
			m.kids[st.Source] = tally{v[0], v[1], v[2], int(v[3]), v[4]}
		}
	}
	if m.parent < 0 {
		m.display(false)
		return
	}
	if m.comm.Wait(m.pending) != nil {
		return
	}
	t := m.subtree()
	m.pending, _ = m.comm.Isend(AppendWords(nil, t.stage, t.done, t.total, uint64(t.slowest), t.share), m.parent, tagProgress)
}

// subtree adds up the counts of this rank and of those below it that are in the same stage.
func (m *Meter) subtree() tally {
	t := m.own
	t.share = 1 << 32
	if t.total > 0 {
		t.share = uint64(float64(t.done) / float64(t.total) * (1 << 32))
	}
	for _, k := range m.kids {
		if k.stage != t.stage {
			continue
		}
		t.done += k.done
		t.total += k.total
		if k.share < t.share || k.share == t.share && k.slowest < t.slowest {
			t.share, t.slowest = k.share, k.slowest
		}
	}
	return t
}

func (m *Meter) display(end bool) {
	if m.parent >= 0 || m.show == nil || m.stage == "" {
		return
	}
	t := m.subtree()
	if end {
		t.done = m.all // all ranks have ended it
	}
	m.show(Progress{
		Stage: m.stage, Done: t.done, Total: m.all, Ranks: m.comm.Size(),
		Slowest: t.slowest, Share: float64(t.share) / (1 << 32), Elapsed: time.Since(m.began), End: end,
		Begin: m.from[0], From: m.from[1], To: m.from[2], Running: time.Since(m.started),
	})
}

func (m *Meter) endStage() {
	if m.stage != "" {
		m.own.done = m.own.total
		m.display(true)
	}
}

// closeWait is how long Close waits for other ranks, which may have failed alone.
const closeWait = 10 * time.Second

// Close ends the last stage, unless it failed, and receives the messages still in progress. Collective, but it gives up after closeWait.
func (m *Meter) Close(failed bool) {
	close(m.end)
	m.ended.Wait()
	if !failed {
		m.endStage()
	}
	m.stage = ""
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if m.comm.BarrierContext(ctx) == nil {
		// Everything sent before the barrier has arrived or can be taken now.
		for {
			if _, _, ok, err := m.comm.TryRecv(mpi.AnySource, tagProgress); err != nil || !ok {
				break
			}
		}
	}
	_ = m.comm.Wait(m.pending) // a message of 40 bytes completes at once
}

// End closes the meter of a job with an error, or none, and frees its communicator. Collective.
func (m *Meter) End(err error) error {
	if m.Close(err != nil); err != nil {
		return err
	}
	return m.comm.Free()
}
