package pipeline

// Bounds of one type of jobs that hold for any law of service and any order of it. Asymptotic bounds after Denning and
// Buzen (Computing Surveys 10, 1978).
type Bounds struct {
	Alone      float64 `json:"alone"`      // response of one job that is alone, seconds
	Path       float64 `json:"path"`       // the longest path of mean demands: no number of servers makes the mean response less
	Work       float64 `json:"-"`          // N D*max: seconds that the center which saturates first works for all jobs
	Saturation float64 `json:"saturation"` // N D*max - Z: the work of the center that saturates first
	Response   float64 `json:"response"`   // the largest of these: no mean response is less
	Throughput float64 `json:"throughput"` // no throughput is more, jobs per second
	Bottleneck string  `json:"bottleneck"` // center that saturates first; Nowhere: none has a queue
}

// Nowhere stands for the name of a center where there is none.
const Nowhere = "-"

// bound computes the bounds of a type whose jobs take alone seconds alone and use the centers for demand seconds.
func (s *system) bound(t *TypeAnswer, j *job, demand []float64, alone float64) {
	t.demand, t.Bounds = demand, Bounds{Alone: alone, Path: j.path, Bottleneck: Nowhere}
	var k int
	if t.Bounds.Work, k = s.saturation(j, demand, j.n); k >= 0 {
		t.Bounds.Bottleneck = s.centers[k].Name
	}
	t.complete()
}

// complete computes what follows from the times.
func (t *TypeAnswer) complete() {
	b := &t.Bounds
	b.Saturation = max(0, b.Work-t.Think)
	b.Response = max(b.Path, b.Alone, b.Saturation)
	b.Throughput = float64(t.Jobs) / (b.Response + t.Think)
	if b.Work > 0 {
		t.SaturatesAt = float64(t.Jobs) * (b.Alone + t.Think) / b.Work
	}
}
