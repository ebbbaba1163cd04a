package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
)

// reportEvery is how often a rank tells its parent how far it is.
const reportEvery = 2 * time.Second

const tagProgress = 11

// Progress is how far a stage is: what the ranks have done that reported, of what all have to do.
type Progress struct {
	Stage       string
	Done, Total uint64 // bytes
	Ranks       int
	Slowest     int     // the rank with the smallest share done
	Share       float64 // of the slowest rank
	Elapsed     time.Duration
	End         bool // of the stage

	From, To float64       // about the share of the whole job before the stage and after it; To is 0 where that is not planned
	Begin    float64       // what was done when this process began
	Running  time.Duration // since then
}

// Cost is about what a stage takes of the processor time of a job, in any unit.
type Cost struct {
	Stage string
	Cost  float64
}

// Meter counts the work of one rank and carries the counts up a binomial tree,
// without waiting for anybody: every two seconds a rank takes what its children
// sent, and sends what it knows of its subtree, also while it waits for others.
type Meter struct {
	end   chan struct{}  // closed by Close
	ended sync.WaitGroup // what reports goes on until then

	mu      sync.Mutex // of all below
	comm    mpi.Comm
	show    func(Progress) // on rank 0
	parent  int
	kids    map[int]tally
	own     tally
	all     uint64 // bytes of the stage, of all ranks
	stage   string
	number  uint64
	began   time.Time
	next    time.Time
	pending *mpi.Request
	plan    []Cost
	started time.Time
	from    [3]float64 // shares of the job: at its first stage, before the stage, and after it
	Dog     *Watchdog  // learns of stages and work too; nil: there is none
}

// tally is the state of a subtree.
type tally struct {
	stage, done, total uint64
	slowest            int
	share              uint64 // of slowest, in units of 2^-32
}

// NewMeter prepares progress on c. Until Close nobody else makes collective calls on c, or uses the meter's tag. show is
// called on rank 0, from one goroutine at a time; nil shows nothing.
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

// reportAt reports whenever something comes, until Close.
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

// report exchanges counts where it is time for that.
func (m *Meter) report(now time.Time) {
	if m.stage != "" && now.After(m.next) {
		m.next = now.Add(reportEvery)
		m.exchange()
	}
}

// Plan says which stages are to come, in their order, so that progress is that of the whole job.
func (m *Meter) Plan(stages []Cost) { m.plan = stages }

// enter finds what of the whole job lies before a stage and in it. One that is not planned takes nothing.
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

// Stage begins a stage in which this rank has own bytes to do, and all ranks together all of them.
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

// exchange takes the children's counts and passes the subtree's on.
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

// subtree adds up this rank and those below it that are in the same stage.
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
		t.done = m.all // the ranks ended it together
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

// closeWait is how long Close waits for ranks that failed alone.
const closeWait = 10 * time.Second

// Close ends the last stage, unless it failed, and takes the messages still
// in progress. Collective; when other ranks never come, it gives up.
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
	_ = m.comm.Wait(m.pending) // 40 bytes leave at once
}

// End closes the meter of a job with an error, or none, and frees its communicator. Collective.
func (m *Meter) End(err error) error {
	if m.Close(err != nil); err != nil {
		return err
	}
	return m.comm.Free()
}
