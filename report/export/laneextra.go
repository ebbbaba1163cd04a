package export

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// intervals draws the executions of intervals on a track of their own, without that of the whole program.
func (l *lane) intervals() error {
	type execution struct {
		end  uint64
		name string
	}
	var open []execution
	l.last, l.drawn = 0, 0
	closeUntil := func(ns uint64) error {
		for k := len(open); k > 0 && open[k-1].end <= ns; k = len(open) {
			l.last = max(l.last, open[k-1].end)
			if err := l.t.sink.intervalEnd(l.last, open[k-1].name); err != nil {
				return err
			}
			open = open[:k-1]
		}
		return nil
	}
	err := l.t.s.overlapping(l.p, xtf.TypeIval, l.window.begin, l.window.end, func(_ uint64, row []byte) error {
		var x xtf.Ival
		if x.Load(row); x.Node == 0 {
			return nil
		}
		if l.enough() {
			return errSampled
		}
		begin, err := l.time(x.T)
		if err != nil {
			return err
		}
		if err := closeUntil(begin); err != nil {
			return err
		}
		end, err := l.time(x.End)
		if err != nil {
			return err
		}
		if k := len(open); k > 0 {
			end = min(end, open[k-1].end)
		}
		name := fmt.Sprintf("interval %d", x.Node)
		if uint64(x.Node) < uint64(len(l.t.s.Nodes)) {
			name = strings.ToValidUTF8(l.t.s.Nodes[x.Node], "\uFFFD")
		}
		l.last = begin
		open = append(open, execution{max(begin, end), name})
		l.t.drawn.Slices++
		return l.t.sink.intervalBegin(begin, name)
	})
	if err != nil && !errors.Is(err, errSampled) {
		return err
	}
	return closeUntil(xtf.Never)
}

// counters draws the values of metrics, each metric on its own track.
func (l *lane) counters() error {
	l.last, l.drawn = 0, 0
	err := l.t.s.overlapping(l.p, xtf.TypeMetric, l.window.begin, l.window.end, func(_ uint64, row []byte) error {
		var x xtf.Metric
		x.Load(row)
		i, ok := l.t.metrics.of(&x)
		if !ok {
			return nil
		}
		if l.enough() {
			return errSampled
		}
		ns, err := l.time(x.T)
		if err != nil {
			return err
		}
		l.last = ns
		l.t.drawn.Counters++
		value, kind := metricValue(&x)
		m := l.t.metrics
		return l.t.sink.counter(ns, i, strings.ToValidUTF8(m.name(i), "\uFFFD"), strings.ToValidUTF8(m.unit(i), "\uFFFD"), value, x.Value, kind)
	})
	if errors.Is(err, errSampled) {
		return nil
	}
	return err
}
