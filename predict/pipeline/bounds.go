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
	RuleOfThumb float64 // N R1: more is unusual, but possible
}

// bounds computes the bounds of a type whose jobs take alone seconds alone and use the centers for demand seconds.
func (s *system) bounds(j *job, demand []float64, alone float64) Bounds {
	b := Bounds{Alone: alone, Path: j.path, RuleOfThumb: float64(j.n) * alone}
	cycle, center := s.saturation(j, demand, j.n)
	b.Bottleneck, b.Work, b.Saturation = center, cycle, max(0, cycle-j.think)
	b.Response = max(b.Path, b.Alone, b.Saturation)
	b.Throughput = float64(j.n) / (b.Response + j.think)
	if cycle > 0 {
		b.SaturatesAt = float64(j.n) * (alone + j.think) / cycle
	}
	return b
}

// AsymptoticBounds brackets the response of a network with one class whose centers have one server each or no queue: at
// least that of a job alone or of the saturated bottleneck, at most that where every job queues behind all others.
func AsymptoticBounds(n *Network) (low, high float64, err error) {
	if err := oneClass(n); err != nil {
		return 0, 0, err
	}
	sum, most := n.sums()
	jobs := float64(n.Jobs[0])
	return max(sum, float64(jobs*most)-n.Think[0]), jobs * sum, nil
}

// BalancedBounds are those of Zahorjan, Sevcik, Eager and Galler (CACM 25, 1982) for a network without think time and
// delays: of all networks with the same total and the same largest demand, the balanced ones are the extremes.
func BalancedBounds(n *Network) (low, high float64, err error) {
	if err := oneClass(n); err != nil {
		return 0, 0, err
	}
	queues := 0
	for k, c := range n.Centers {
		if c.Kind == Delay && n.Demand[0][k] > 0 || n.Think[0] > 0 {
			return 0, 0, ErrNetwork
		}
		if c.Kind != Delay {
			queues++
		}
	}
	sum, most := n.sums()
	others := float64(n.Jobs[0] - 1)
	low = max(float64(float64(n.Jobs[0])*most), sum+float64(others*sum/float64(queues)))
	return low, sum + float64(others*most), nil
}

func oneClass(n *Network) error {
	if err := n.check(); err != nil {
		return err
	}
	if len(n.Jobs) != 1 {
		return ErrNetwork
	}
	for _, c := range n.Centers {
		if c.Servers > 1 && c.Kind != Delay {
			return ErrNetwork
		}
	}
	return nil
}

// sums are the total demand, and the largest one of a center with a queue.
func (n *Network) sums() (sum, most float64) {
	for k, d := range n.Demand[0] {
		sum += d
		if n.Centers[k].Kind != Delay {
			most = max(most, d)
		}
	}
	return sum, most
}
