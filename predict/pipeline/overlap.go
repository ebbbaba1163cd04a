package pipeline

// The methods tree and dag are approximate mean value analysis on task level, as the literature on precedence graphs in
// queueing networks has it (Mak and Lundstrom, IEEE TPDS 1 (1990); Liang and Tripathi, IEEE TPDS 11 (2000)): a task finds at
// a center the tasks of its own job for the share of its time during which they overlap, and those of other jobs for the
// share of the time that they are there. They are here to compare with: walk is several times as accurate.

// overlap is a type under way in such a method.
type overlap interface {
	// round does one step with others[k] customers of other jobs at center k on the mean, at most most[k] at once, and returns
	// the largest relative change.
	round(others []float64, most []int) float64
	// state is the present response, and the mean customers of one job at each center.
	state() (response float64, queue []float64)
}

// overlapAnswers solves by tree or dag: every type sees the others as they were in the last round.
func (s *system) overlapAnswers(a *Answer, out []TypeAnswer) error {
	types := make([]overlap, len(s.jobs))
	tolerance, rounds := treeTolerance, treeRounds
	for i := range s.jobs {
		var err error
		if a.Method == MethodTree {
			types[i], err = newTreeModel(s, &s.jobs[i], a.Options.Operator)
		} else {
			types[i], err = newDAGModel(s, &s.jobs[i], &a.Options)
			tolerance, rounds = dagTolerance, dagRounds
		}
		if err != nil {
			return err
		}
	}
	others, most := make([]float64, len(s.centers)), make([]int, len(s.centers))
	converged := false
	for n := 0; n < rounds && !converged; n++ {
		var change float64
		for i, t := range types {
			clear(others)
			clear(most)
			for r := range types {
				_, queue := types[r].state()
				for k := range others {
					c := dealt(s.jobs[r].n, s.copies[k])
					if r == i {
						c--
					}
					others[k] += float64(float64(c) * queue[k])
					most[k] = min(most[k]+c, mostTrials)
				}
			}
			change = max(change, t.round(others, most))
		}
		converged = change < tolerance
	}
	if !converged {
		a.warn("%s did not settle within %d rounds", a.Method, rounds)
	}
	for i, t := range types {
		j := &s.jobs[i]
		out[i].Response, out[i].queue = t.state()
		out[i].Throughput = float64(j.n) / (out[i].Response + j.think)
		out[i].Bounds = s.bounds(j, j.demand, j.path)
	}
	return nil
}
