package pipeline

// Bounds of one type of jobs that hold for any law of service and any order of it. Asymptotic bounds after Denning and
// Buzen (Computing Surveys 10, 1978).
type Bounds struct {
	Alone       float64 // response of one job that is alone, seconds
	Path        float64 // the longest path of mean demands: no number of servers makes the mean response less
	Work        float64 // N D*max: seconds that the center which saturates first works for all jobs
	Saturation  float64 // N D*max - Z: the work of the center that saturates first
	Response    float64 // the largest of these: no mean response is less
	Throughput  float64 // no throughput is more, jobs per second
	Bottleneck  int     // center that saturates first; -1 where none has a queue
	SaturatesAt float64 // N* = (R1+Z)/D*max jobs; 0 where nothing saturates
}

// bounds computes the bounds of a type whose jobs take alone seconds alone and use the centers for demand seconds.
func (s *system) bounds(j *job, demand []float64, alone float64) Bounds {
	b := Bounds{Alone: alone, Path: j.path}
	b.Work, b.Bottleneck = s.saturation(j, demand, j.n)
	b.complete(j.n, j.think)
	return b
}

// complete computes what follows from the times.
func (b *Bounds) complete(jobs int, think float64) {
	b.Saturation = max(0, b.Work-think)
	b.Response = max(b.Path, b.Alone, b.Saturation)
	b.Throughput = float64(jobs) / (b.Response + think)
	if b.Work > 0 {
		b.SaturatesAt = float64(jobs) * (b.Alone + think) / b.Work
	}
}
