package prediction

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// donorSet is the donors, processes whose vectors were measured, and which donor each process follows.
type donorSet struct {
	list    []*predict.Donor  // by process, ascending
	of      []int32           // by process: index of its donor in list, -1 for none
	about   []predicted.Donor // by index in list
	totals  []predict.Totals  // by index in list
	content string            // hash of all vectors
}

// donor returns the donor of a process, nil for none.
func (s *donorSet) donor(process uint32) *predict.Donor {
	if s == nil || s.of[process] < 0 {
		return nil
	}
	return s.list[s.of[process]]
}

// openVectors reads the measured vectors. Collective.
func (x *prediction) openVectors() error {
	for _, f := range []struct {
		paths []string
		to    **donorSet
	}{{x.o.Vectors, &x.donors}, {x.o.HostVectors, &x.hostDons}} {
		if len(f.paths) == 0 {
			continue
		}
		targets, err := x.readTargets(f.paths)
		if err != nil {
			return err
		}
		if *f.to, err = x.newDonors(targets); err != nil {
			return err
		}
	}
	if x.donors != nil {
		c := &x.res.Computation
		c.Source, c.Donors, c.Content, c.Rule = "vectors", x.donors.about, x.donors.content, [...]string{"scale", "copy"}[x.o.Rule]
	}
	if x.hostDons != nil {
		x.hostDons.worst(&x.res.Errors)
		x.hostDons.spread(&x.res.Errors)
	}
	if x.donors != nil && x.res.Errors.WorstSpread == nil {
		x.donors.spread(&x.res.Errors)
	}
	return x.everybodyFollows()
}

// readTargets reads files, and folders of files, on rank 0 and parses them on all ranks. Collective.
func (x *prediction) readTargets(paths []string) ([]predict.Target, error) {
	var files []string
	n, err := jobs.FromRank(x.c, 0, func() (_ []byte, err error) {
		files, err = vectorFiles(paths)
		return jobs.AppendWords(nil, uint64(len(files))), targetError(err)
	})
	if err != nil {
		return nil, err
	}
	var list []predict.Target
	for i := range jobs.TakeWords[uint64](n)[0] {
		packed, err := jobs.FromRank(x.c, 0, func() ([]byte, error) {
			b, err := os.ReadFile(files[i])
			return jobs.PackParts(0, []byte(files[i]), b), targetError(err)
		})
		if err != nil {
			return nil, err
		}
		_, parts, err := jobs.UnpackParts(packed)
		var own []predict.Target
		if err == nil {
			own, err = predict.ReadTargets(string(parts[0]), bytes.NewReader(parts[1]), x.o.Clock)
		}
		if err := jobs.Agree(x.c, targetError(err)); err != nil {
			return nil, err
		}
		list = append(list, own...)
	}
	slices.SortStableFunc(list, func(a, b predict.Target) int { return cmp.Compare(a.Process, b.Process) })
	return list, jobs.Agree(x.c, targetError(x.checkTargets(list)))
}

// checkTargets returns an error for processes that the run does not have, and for two vectors of one process.
func (x *prediction) checkTargets(list []predict.Target) error {
	if len(list) == 0 {
		return fmt.Errorf("%w: they hold no process", predict.ErrTarget)
	}
	for i := range list {
		p := list[i].Process
		if p >= x.in.Processes() {
			return fmt.Errorf("%w: process %d of a run of %d", predict.ErrTarget, p, x.in.Processes())
		}
		if i > 0 && p == list[i-1].Process {
			return fmt.Errorf("%w: process %d has two vectors", predict.ErrTarget, p)
		}
	}
	return nil
}

// vectorFiles returns the files of paths. A folder stands for its files RANK.csv.
func vectorFiles(paths []string) ([]string, error) {
	var list []string
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			list = append(list, path)
			continue
		}
		found, err := filepath.Glob(filepath.Join(path, "[0-9]*.csv"))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: %w: no file RANK.csv in it", path, predict.ErrTarget)
		}
		list = append(list, found...)
	}
	return list, nil
}

func targetError(err error) error {
	if err == nil {
		return nil
	}
	return jobs.Fail(jobs.ExitInput, fmt.Errorf("vectors: %w", err))
}

// newDonors makes donors of measured vectors and the recorded ones of the same processes. Collective.
func (x *prediction) newDonors(targets []predict.Target) (*donorSet, error) {
	s := &donorSet{}
	h := sha256.New()
	for i := range targets {
		host, err := x.hostVector(targets[i].Process)
		if err != nil {
			return nil, err
		}
		d, about, times, err := x.newDonor(&targets[i], host)
		if err := jobs.Agree(x.c, targetError(err)); err != nil {
			return nil, err
		}
		s.list, s.about, s.totals = append(s.list, d), append(s.about, about), append(s.totals, targets[i].Totals)
		h.Write(jobs.AppendWords(nil, int64(targets[i].Process), int64(len(times))))
		h.Write(jobs.AppendWords(nil, times...))
	}
	s.content = hex.EncodeToString(h.Sum(nil))
	s.follow(x.classes)
	return s, nil
}

// newDonor makes the donor of one measured vector, which has an entry for each MPI call. times are the measured times by entry, negative
// for none.
func (x *prediction) newDonor(t *predict.Target, host []int64) (d *predict.Donor, about predicted.Donor, times []int64, err error) {
	about = predicted.Donor{Process: t.Process, Off: 1000 * uint64(t.Totals.Off)}
	nodes, err := x.in.CallNodes(t.Process)
	if err != nil {
		return nil, about, nil, err
	}
	if host, err = predict.Join(nodes, host, x.in.IsMPI); err != nil {
		return nil, about, nil, err
	}
	nodes, about.Entries = predict.Counted(nodes, x.in.IsMPI), uint64(len(host))
	calls, names := x.in.Functions(nodes)
	if times, err = t.Place(uint64(len(host)), calls, names); err != nil {
		return nil, about, nil, err
	}
	for i, v := range times {
		if v < 0 {
			continue
		}
		about.Measured++
		about.Host += uint64(host[i])
		about.Target += uint64(v)
	}
	if about.Measured == 0 {
		return nil, about, nil, fmt.Errorf("%w: nothing in the vector of process %d belongs to this run: is it of another program?", predict.ErrTarget, t.Process)
	}
	d, err = x.joinDonor(t.Process, nodes, host, times)
	if err == nil {
		d.Keep(0)
		d.Keep(d.Entries() - 1)
	}
	return d, about, times, err
}

// joinDonor makes a donor with an entry between each two calls that count (predict.Input.Counts).
func (x *prediction) joinDonor(process uint32, nodes []program.NodeID, host, times []int64) (*predict.Donor, error) {
	host, err := predict.Join(nodes, slices.Clone(host), x.in.Counts)
	if err != nil {
		return nil, err
	}
	if times, err = predict.Join(nodes, slices.Clone(times), x.in.Counts); err != nil {
		return nil, err
	}
	return predict.NewDonor(process, host, times, sitesOf(predict.Counted(nodes, x.in.Counts)))
}

// sitesOf returns the place in the program of each entry: the call after it.
func sitesOf(nodes []program.NodeID) []uint32 {
	sites := make([]uint32, len(nodes)+1)
	for i, n := range nodes {
		sites[i] = uint32(n) + 1
	}
	return sites
}

// hostVector returns the recorded vector of a process on all ranks. Collective.
func (x *prediction) hostVector(process uint32) (vector []int64, err error) {
	owner := slices.IndexFunc(x.in.Ranges, func(r partition.Range) bool { return r.Contains(trace.P(process)) })
	if owner < 0 {
		return nil, fmt.Errorf("process %d belongs to no rank", process)
	}
	b, err := jobs.FromRank(x.c, owner, func() ([]byte, error) {
		v := make([]int64, x.in.Vectors.Entries(process))
		err := x.in.Vectors.Fill(process, 0, v)
		return jobs.AppendWords(nil, v...), jobs.InputError(x.o.Run, err)
	})
	return jobs.TakeWords[int64](b), err
}

// follow sets which donor each process follows: itself, else the representative of its class, else the first donor of its class.
func (s *donorSet) follow(k *xtf.ClassTable) {
	s.of = make([]int32, len(k.Members))
	byClass := slices.Repeat([]int32{-1}, len(k.Classes))
	own := make(map[uint32]int32, len(s.list))
	for i, d := range s.list {
		own[d.Process] = int32(i)
		c := k.Members[d.Process].Class
		if byClass[c] < 0 || d.Process == k.Classes[c].Representative {
			byClass[c] = int32(i)
		}
	}
	for p, m := range k.Members {
		s.of[p] = byClass[m.Class]
		if i, ok := own[uint32(p)]; ok {
			s.of[p] = i
		}
		if s.of[p] >= 0 {
			s.about[s.of[p]].Processes++
		}
	}
}

// everybodyFollows returns an error if a class has no donor and no scale was given.
func (x *prediction) everybodyFollows() error {
	if x.donors == nil || x.o.Scaled {
		return nil
	}
	var missing []uint32
	for c := range x.classes.Classes {
		if !slices.ContainsFunc(x.donors.list, func(d *predict.Donor) bool { return x.classes.Members[d.Process].Class == uint32(c) }) {
			missing = append(missing, x.classes.Classes[c].Representative)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	shown := missing[:min(len(missing), 20)]
	return jobs.Agree(x.c, targetError(fmt.Errorf("%d of %d classes have no measured process: record and replay rank %s too, or give --cpu-scale for their processes",
		len(missing), len(x.classes.Classes), results.RankList(shown))))
}

// worst sets the process whose replay differs most from the recorded run.
func (s *donorSet) worst(e *predicted.PredictedErrors) {
	most := -1.0
	for i := range s.about {
		a := &s.about[i]
		if off := share(max(a.Target, a.Host)-min(a.Target, a.Host), a.Host); off > most {
			most, e.WorstReplay, e.Replayed, e.Recorded, e.Replay = off, &a.Process, a.Target, a.Host, difference(a.Target, a.Host)
		}
	}
}

// spread sets the process whose repetitions differ most, as a share of its time, if a process was replayed more than once.
func (s *donorSet) spread(e *predicted.PredictedErrors) {
	for i, t := range s.totals {
		least, most := uint64(t.Least), uint64(t.Most)
		if apart := share(most-min(least, most), uint64(t.Sum)); most > 0 && (e.WorstSpread == nil || apart > e.Spread.Value) {
			e.WorstSpread, e.Least, e.Most, e.Spread = &s.about[i].Process, 1000*least, 1000*most, numbers.Ratio{Value: apart, Defined: true}
		}
	}
}

// share returns part as a share of another number, for 0 of 1.
func share(part, of uint64) float64 { return float64(part) / float64(max(of, 1)) }

// difference returns how far a is from b, as a share of b.
func difference(a, b uint64) numbers.Ratio { return numbers.NewRatio(max(a, b)-min(a, b), b) }
