package pipeline

import (
	"context"
	"fmt"
	"slices"
)

// at solves the setting with the given places in the lists of values, once.
func (s *search) at(ctx context.Context, place []int) (*Setting, error) {
	key := fmt.Sprint(place)
	if x, ok := s.visited[key]; ok {
		return x, nil
	}
	values := make([]float64, len(place))
	for i, p := range place {
		values[i] = s.plan.Knobs[i].Values[p]
	}
	x, err := s.solve(ctx, values)
	if err == nil {
		s.visited[key] = x
		s.count(x)
	}
	return x, err
}

// bisect is for too many settings to look at each. It begins with the most of all that costs, and the first combination of
// the rest that meets the target there; then it lowers one knob after the other, until none can be lowered alone. More is
// not always better in precedence graphs (Graham's anomalies), so the neighbours of each limit are looked at too; still the
// answer is a setting that meets the target, and not surely the cheapest one.
func (s *search) bisect(ctx context.Context) error {
	place, err := s.feasible(ctx)
	if err != nil || place == nil {
		return err
	}
	for changed := true; changed; {
		changed = false
		for i := range place {
			p, err := s.lower(ctx, place, i)
			if err != nil {
				return err
			}
			changed = changed || p != place[i]
			place[i] = p
		}
	}
	s.plan.Answer, err = s.at(ctx, place)
	if err != nil {
		return err
	}
	for _, x := range s.visited {
		if x.Misses == "" || s.order(x.Values, s.plan.Answer.Values) > 0 {
			continue
		}
		if s.plan.Cheaper == nil || s.order(x.Values, s.plan.Cheaper.Values) > 0 {
			s.plan.Cheaper = x
		}
	}
	return nil
}

// feasible is a setting with the most of all that costs that meets the target, or nil. Of what is free it tries each value
// of each knob, the others at both ends.
func (s *search) feasible(ctx context.Context) ([]int, error) {
	low, high := make([]int, len(s.price)), make([]int, len(s.price))
	for i, k := range s.plan.Knobs {
		high[i] = len(k.Values) - 1
		if s.price[i] > 0 {
			low[i] = high[i]
		}
	}
	for _, base := range [][]int{low, high} {
		if x, err := s.at(ctx, base); err != nil || x.Misses == "" {
			return slices.Clone(base), err
		}
		for i := range base {
			if s.price[i] > 0 {
				continue
			}
			place := slices.Clone(base)
			for place[i] = 0; place[i] < len(s.plan.Knobs[i].Values); place[i]++ {
				if x, err := s.at(ctx, place); err != nil || x.Misses == "" {
					return place, err
				}
			}
		}
	}
	return nil, nil
}

// lower finds the least value of a knob that meets the target, the others as they are.
func (s *search) lower(ctx context.Context, place []int, knob int) (int, error) {
	try := slices.Clone(place)
	passes := func(p int) (bool, error) {
		try[knob] = p
		x, err := s.at(ctx, try)
		return err == nil && x.Misses == "", err
	}
	fails, meets := -1, place[knob]
	for meets-fails > 1 {
		mid := (fails + meets) / 2
		ok, err := passes(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			meets = mid
		} else {
			fails = mid
		}
	}
	for p := meets - 2; p >= max(0, meets-3); p-- {
		if ok, err := passes(p); err != nil {
			return 0, err
		} else if ok {
			meets = p
		}
	}
	return meets, nil
}
