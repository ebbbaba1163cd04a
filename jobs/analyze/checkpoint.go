package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Times of stopping.
const (
	lookEvery = 50 * time.Millisecond // between looks for requests of other ranks
	// endMargin is the time before the time limit at which a rank stops, in addition to twice the time of its longest checkpoint.
	endMargin  = 30 * time.Second
	stageGrace = 10 * time.Second
)

const tagStop = 12

// pacer saves checkpoints of a rank from time to time, and stops all ranks when one is asked to. A rank that learns of the request tells its
// neighbours in a hypercube, once. So all ranks know after 2 log2 P hops, with log2 P messages of a byte from each rank, and the next
// agreement ends the stage everywhere. No rank waits meanwhile.
type pacer struct {
	a        *job
	comm     mpi.Comm
	stop     *jobs.Stop
	began    time.Time      // the job
	saved    time.Time      // the last checkpoint, else the begin of the job
	longest  time.Duration  // of a checkpoint
	next     time.Time      // of the next look for requests
	told     []*mpi.Request // to neighbours; nil: not told yet
	heard    map[int]bool   // neighbours whose message has come
	units    int            // finished by this rank in this run
	bytes    uint64         // of these units
	listed   int            // units, by this rank in this run
	loading  bool           // up to the end of the load, in which each unit can be kept
	marked   uint32         // the last stage with a mark of this run
	from     uint32         // the mark that this run began with
	redo     int            // damaged units
	kept     int            // units that this rank took over
	unitTime time.Duration  // of units finished by this rank in this run
}

func newPacer(a *job, side mpi.Comm) *pacer {
	p := &pacer{a: a, comm: side, stop: cmp.Or(a.o.Stop, &jobs.Stop{}), began: time.Now(), heard: map[int]bool{}, loading: true}
	p.saved = p.began
	return p
}

// neighbours returns the ranks with which this one exchanges requests to stop.
func (p *pacer) neighbours() (list []int) {
	for bit := 1; bit < p.comm.Size(); bit <<= 1 {
		if r := p.comm.Rank() ^ bit; r < p.comm.Size() {
			list = append(list, r)
		}
	}
	return list
}

// asked reports whether this rank knows that the job is to stop. If so it tells the neighbours.
func (p *pacer) asked() bool {
	now := time.Now()
	if now.After(p.next) {
		p.next = now.Add(lookEvery)
		for {
			_, st, ok, err := p.comm.TryRecv(mpi.AnySource, tagStop)
			if err != nil || !ok {
				break
			}
			p.heard[st.Source] = true
			p.stop.Ask(hearsay)
		}
		if end := p.a.o.End; !end.IsZero() && now.Add(endMargin+2*p.longest).After(end) {
			p.stop.Ask(timeLimit)
		}
	}
	_, ok := p.stop.Asked()
	if ok {
		p.tell()
	}
	return ok
}

// Reasons to stop.
const (
	timeLimit = "the time limit is near (SLURM_JOB_END_TIME)"
	hearsay   = "another rank was asked to"
)

// reason returns the reason to stop, of the lowest rank that was asked itself. Collective.
func (p *pacer) reason() (string, error) {
	why, ok := p.stop.Asked()
	n := []int64{int64(p.a.c.Size())}
	if ok && why != hearsay {
		n[0] = int64(p.a.c.Rank())
	}
	if err := p.a.c.AllreduceInt64(n, mpi.Min); err != nil {
		return "", err
	}
	b, err := p.a.c.Bcast([]byte(why), int(n[0])%p.a.c.Size())
	return string(b), err
}

// tell tells the neighbours, once, that the job is to stop.
func (p *pacer) tell() {
	if p.told != nil {
		return
	}
	p.told = []*mpi.Request{}
	for _, r := range p.neighbours() {
		if q, err := p.comm.Isend([]byte{1}, r, tagStop); err == nil {
			p.told = append(p.told, q)
		}
	}
}

// settle receives the neighbours' messages still in progress, once all ranks have agreed to stop. Collective.
func (p *pacer) settle() error {
	p.tell()
	for _, r := range p.neighbours() {
		if p.heard[r] {
			continue
		}
		if _, _, err := p.comm.Recv(r, tagStop); err != nil {
			return err
		}
	}
	return p.comm.Wait(p.told...)
}

// poll must be called between pieces of work. It returns jobs.ErrStopped when the job is to stop. In stages after the load, whose units are
// not kept, it does so only after jobs.Stop.Grace, so that the stage can reach its end.
func (p *pacer) poll() error {
	p.a.dog.Alive()
	if !p.asked() {
		return nil
	}
	if !p.loading && time.Since(p.stop.Since()) < cmp.Or(p.stop.Grace, stageGrace) {
		return nil
	}
	return jobs.ErrStopped
}

// begin must be called before a unit of the load. If the unit would probably not end before the time limit, and is not the first one, the
// job stops.
func (p *pacer) begin(bytes uint64) error {
	if end := p.a.o.End; !end.IsZero() && p.bytes > 0 {
		needs := time.Duration(float64(p.unitTime) * (float64(bytes) / float64(p.bytes)))
		if time.Now().Add(needs + endMargin + 2*p.longest).After(end) {
			p.stop.Ask(timeLimit)
		}
	}
	return p.poll()
}

// done counts a unit of the load, and saves the list of finished units when it is time to.
func (p *pacer) done(bytes uint64, took time.Duration) error {
	p.units++
	p.bytes += bytes
	p.unitTime += took
	if p.a.o.Every <= 0 || time.Since(p.saved) < p.a.o.Every {
		return nil
	}
	return p.save()
}

// save saves the list of finished units.
func (p *pacer) save() error {
	began := time.Now()
	n, err := p.a.ws.Checkpoint()
	p.saved = time.Now()
	p.longest = max(p.longest, p.saved.Sub(began))
	p.listed += n
	return jobs.Coded(err)
}

// endLoad saves the list of all units if the load took at least a tenth of Every.
func (p *pacer) endLoad() error {
	p.loading = false
	if p.a.o.Every <= 0 || time.Since(p.began) < p.a.o.Every/10 {
		return nil
	}
	return p.save()
}

// stopped saves what is finished and makes the error of the job. Collective; all ranks know that the job stops.
func (p *pacer) stopped() error {
	err := p.settle()
	if err == nil {
		err = p.save()
	}
	if err := jobs.Agree(p.a.c, err); err != nil {
		return err
	}
	n := []int64{int64(p.kept + p.listed), int64(p.units)}
	if err := p.a.c.AllreduceInt64(n, mpi.Sum); err != nil {
		return err
	}
	why, err := p.reason()
	if err != nil {
		return err
	}
	dir := p.a.ws.Dir()
	if why == timeLimit && n[1] == 0 && p.marked == notMarked {
		return jobs.Fail(jobs.ExitResource, fmt.Errorf("%s, and this run finished no location and no stage: it would not get further the next time. Give the job more time or more ranks; %s keeps what earlier runs finished",
			why, dir))
	}
	if stage := max(p.marked, p.from); stage != notMarked {
		return jobs.Fail(jobs.ExitSaved, fmt.Errorf("%w: %s; all stages up to %s are finished and kept in %s. Run the same command with --resume to continue",
			jobs.ErrStopped, why, markNames[stage], dir))
	}
	return jobs.Fail(jobs.ExitSaved, fmt.Errorf("%w: %s; %d of %d locations are finished and kept in %s. Run the same command with --resume to continue",
		jobs.ErrStopped, why, n[0], p.a.defs.NumLocations(), dir))
}

// report sets Result.Resumed. Collective.
func (p *pacer) report() error {
	n := []int64{int64(p.kept), int64(p.redo)}
	if err := p.a.c.AllreduceInt64(n, mpi.Sum); err != nil {
		return err
	}
	r := &p.a.res.Resumed
	r.Kept, r.Torn = int(n[0]), int(n[1])
	if p.from != notMarked {
		r.Stage, r.Kept = markNames[p.from], p.a.defs.NumLocations()
	}
	if k := p.a.ws.Kept(); k != nil {
		r.Torn += k.Torn
	}
	return nil
}

// workLeft returns the work of each location in this run, in bytes. A location whose load was kept counts half: the stages after the load
// take about as long as the load.
func (a *job) workLeft() []uint64 {
	k := a.ws.Kept()
	if k == nil || k.Stage() != notMarked {
		return a.size.Weights
	}
	list := slices.Clone(a.size.Weights)
	for p := range list {
		if k.Has(unit(trace.P(p), stageLoad)) {
			list[p] /= 2
		}
	}
	return list
}

// adopt verifies and takes over the units of the load that earlier runs finished, of this rank's locations. It is not collective.
func (a *loads) adopt() error {
	k := a.ws.Kept()
	if k == nil || k.Len() == 0 {
		return nil
	}
	own := func(u xtfwriter.Unit) bool {
		return u.Stage == stageLoad && trace.P(u.P) >= a.own.First && trace.P(u.P) < a.own.End
	}
	for p := a.own.First; p < a.own.End; p++ {
		if k.Has(unit(p, stageLoad)) {
			a.pace.kept++
		}
	}
	torn, err := a.ws.Adopt(own, func(int64) error { return a.pace.poll() })
	a.pace.redo += torn
	a.pace.kept -= torn
	return jobs.Coded(err)
}
