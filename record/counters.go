package record

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrCounter says that a counter that was asked for does not exist, that one was named twice, or that there are more than maxCounters.
var ErrCounter = errors.New("no such counter")

// perfEvent is the type and the config of a counter, as perf_event_open(2) takes them.
type perfEvent struct {
	kind   uint32
	config uint64
}

// Types of counters in linux/perf_event.h.
const (
	perfHardware = 0
	perfSoftware = 1
	perfRaw      = 4
)

// perfEvents are the counters that mean the same on all processors, by the names that perf(1) gives them.
var perfEvents = map[string]perfEvent{
	"cycles":                  {perfHardware, 0},
	"instructions":            {perfHardware, 1},
	"cache-references":        {perfHardware, 2},
	"cache-misses":            {perfHardware, 3},
	"branches":                {perfHardware, 4},
	"branch-misses":           {perfHardware, 5},
	"bus-cycles":              {perfHardware, 6},
	"stalled-cycles-frontend": {perfHardware, 7},
	"stalled-cycles-backend":  {perfHardware, 8},
	"ref-cycles":              {perfHardware, 9},
	"cpu-clock":               {perfSoftware, 0},
	"task-clock":              {perfSoftware, 1},
	"page-faults":             {perfSoftware, 2},
	"context-switches":        {perfSoftware, 3},
	"cpu-migrations":          {perfSoftware, 4},
	"minor-faults":            {perfSoftware, 5},
	"major-faults":            {perfSoftware, 6},
}

// maxCounters is the most counters of a recording: an event has room for so many values.
const maxCounters = 8

// countersText returns the value of COPPICE_RECORD_COUNTERS: NAME=TYPE:CONFIG, separated by commas. A name such as r01c2 means a raw
// counter, the processor's own number in hexadecimal digits.
func countersText(names []string) (string, error) {
	if len(names) > maxCounters {
		return "", fmt.Errorf("%w: %d counters, a recording has at most %d", ErrCounter, len(names), maxCounters)
	}
	var list []string
	for i, name := range names {
		e, ok := perfEvents[name]
		if raw, is := strings.CutPrefix(name, "r"); !ok && is {
			n, err := strconv.ParseUint(raw, 16, 64)
			e, ok = perfEvent{perfRaw, n}, err == nil
		}
		switch {
		case !ok:
			return "", fmt.Errorf("%w: %q; there are %s, and numbers of the processor as r01c2", ErrCounter, name,
				strings.Join(slices.Sorted(maps.Keys(perfEvents)), ", "))
		case slices.Contains(names[:i], name):
			return "", fmt.Errorf("%w: %q twice", ErrCounter, name)
		}
		list = append(list, fmt.Sprintf("%s=%d:%x", name, e.kind, e.config))
	}
	return strings.Join(list, ","), nil
}
