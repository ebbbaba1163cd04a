package synthetic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrOptions is returned for options that contradict each other or the limits.
var ErrOptions = errors.New("synthetic: invalid options")

// Options describe a synthetic program. The zero value of a field means its
// default. Times are ticks of the trace clock (1 tick = 1 ns).
type Options struct {
	Program    string // stencil, ring, wavefront, masterworker, irregular; default stencil
	Processes  int    // 1 to 100 000; default 4
	Threads    int    // locations of each process; default 1
	Iterations uint64 // steps of the main loop; default: from Events
	Events     uint64 // events to come close to from below, all locations together; default 10 000
	Depth      int    // user functions nested around each computation; default 1, irregular 4
	Work       uint64 // computation of a step in ticks; default 50 000
	Jitter     int    // random part of the computation, percent of Work
	Imbalance  int    // extra computation of the slowest process, percent of Work
	Bytes      uint64 // payload of a message; default 8192
	Every      uint64 // steps between world-wide reductions (stencil, ring); default 10, ring none
	Seed       uint64
	Offset     uint64 // largest clock offset of a location; recorded, hence corrected
	Drift      uint64 // largest clock drift in ticks per 10^9; recorded, hence corrected
	Skew       uint64 // largest clock error that stays: events then break causality
	Metrics    bool   // a counter value before each enter and leave
	Parameters bool   // a parameter value in each computation
	IO         bool   // program begin and end, file handles and a write every 8 steps
	Chunk      uint64 // events per chunk to aim at; default 65 536
	Broken     Defects
}

// Defects is a set of faults to plant. Each is planted once, in the middle of
// the run of one process, where nothing else happens.
type Defects uint32

// Faults.
const (
	OpenCall         Defects = 1 << iota // calls left open at the end of the stream
	StrayLeave                           // a leave that closes nothing
	Backwards                            // an event before its predecessor
	DanglingRegion                       // a call of a region that is not defined
	DanglingComm                         // a send on a communicator that is not defined
	UnmatchedSend                        // a send that nobody receives
	UnmatchedRecv                        // a receive of what nobody sent
	UnknownRequest                       // completion of a request never posted
	OpenRequest                          // a receive request never completed
	ShortCollective                      // a process that misses the last barrier
	MixedCollective                      // a process that calls the last barrier a reduction
	BytesDiffer                          // a message received with another length
	WrongCount                           // announced event counts that are wrong
	EmptyLocation                        // a location without events
	allDefects       = 1<<iota - 1
	messagingDefects = UnmatchedSend | UnmatchedRecv | BytesDiffer | ShortCollective | MixedCollective
)

var defectNames = []string{
	"open-call", "stray-leave", "backwards", "dangling-region", "dangling-comm", "unmatched-send", "unmatched-recv",
	"unknown-request", "open-request", "short-collective", "mixed-collective", "bytes-differ", "wrong-count", "empty-location",
}

// String lists the faults, joined by +.
func (d Defects) String() string {
	var parts []string
	for i, n := range defectNames {
		if d&(1<<i) != 0 {
			parts = append(parts, n)
		}
	}
	return strings.Join(parts, "+")
}

// ParseDefects reads what String wrote; "all" means every fault.
func ParseDefects(s string) (Defects, error) {
	var d Defects
next:
	for _, part := range strings.Split(s, "+") {
		if part == "all" {
			d |= allDefects
			continue
		}
		for i, n := range defectNames {
			if n == part {
				d |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("%w: unknown fault %q, known: all, %s", ErrOptions, part, strings.Join(defectNames, ", "))
	}
	return d, nil
}

// option is one key of the spec string: a number up to max, or a switch.
type option struct {
	name string
	max  uint64
	num  *uint64
	i    *int
	flag *bool
}

// table lists the keys with their places in o.
func (o *Options) table() []option {
	return []option{
		{name: "procs", max: 100_000, i: &o.Processes},
		{name: "threads", max: 1024, i: &o.Threads},
		{name: "iterations", max: maxIterations, num: &o.Iterations},
		{name: "events", max: maxIterations, num: &o.Events},
		{name: "depth", max: 1000, i: &o.Depth},
		{name: "work", max: maxWork, num: &o.Work},
		{name: "jitter", max: 1000, i: &o.Jitter},
		{name: "imbalance", max: 1000, i: &o.Imbalance},
		{name: "bytes", max: maxWork, num: &o.Bytes},
		{name: "every", max: maxIterations, num: &o.Every},
		{name: "seed", max: 1<<64 - 1, num: &o.Seed},
		{name: "offset", max: maxClock, num: &o.Offset},
		{name: "drift", max: 1_000_000, num: &o.Drift},
		{name: "skew", max: maxClock, num: &o.Skew},
		{name: "metrics", flag: &o.Metrics},
		{name: "parameters", flag: &o.Parameters},
		{name: "io", flag: &o.IO},
		{name: "chunk", max: 1<<64 - 1, num: &o.Chunk},
	}
}

// value returns the number of a key; switches have none.
func (x *option) value() uint64 {
	switch {
	case x.num != nil:
		return *x.num
	case x.i != nil:
		return uint64(*x.i)
	}
	return 0
}

// ParseOptions reads a spec such as "stencil:procs=64,events=20M,jitter=5,seed=1".
// Numbers may end in k, M or G; switches are alone (metrics, io); faults are
// joined by + (broken=stray-leave+unmatched-send).
func ParseOptions(spec string) (Options, error) {
	name, rest, _ := strings.Cut(spec, ":")
	o := Options{Program: name}
	for _, item := range strings.Split(rest, ",") {
		if item == "" {
			continue
		}
		if err := o.set(item); err != nil {
			return Options{}, err
		}
	}
	_, err := o.withDefaults()
	return o, err
}

func (o *Options) set(item string) error {
	key, value, assigned := strings.Cut(item, "=")
	if key == "broken" {
		d, err := ParseDefects(value)
		o.Broken |= d
		return err
	}
	for _, opt := range o.table() {
		if opt.name != key {
			continue
		}
		if opt.flag != nil {
			*opt.flag = !assigned || value == "true"
			if assigned && value != "true" && value != "false" {
				return fmt.Errorf("%w: %s is true or false, not %q", ErrOptions, key, value)
			}
			return nil
		}
		n, err := parseNumber(value)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrOptions, key, err)
		}
		if opt.num != nil {
			*opt.num = n
			return nil
		}
		if n > 1<<30 {
			return fmt.Errorf("%w: %s=%d is too large", ErrOptions, key, n)
		}
		*opt.i = int(n)
		return nil
	}
	return fmt.Errorf("%w: unknown key %q", ErrOptions, key)
}

func parseNumber(s string) (uint64, error) {
	unit := uint64(1)
	for suffix, u := range map[string]uint64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if t, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = t, u
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, err
	}
	if n > (1<<64-1)/unit {
		return 0, strconv.ErrRange
	}
	return n * unit, nil
}

// String returns the spec that ParseOptions reads.
func (o Options) String() string {
	var parts []string
	for _, opt := range o.table() {
		switch {
		case opt.value() != 0:
			parts = append(parts, fmt.Sprintf("%s=%d", opt.name, opt.value()))
		case opt.flag != nil && *opt.flag:
			parts = append(parts, opt.name)
		}
	}
	if o.Broken != 0 {
		parts = append(parts, "broken="+o.Broken.String())
	}
	return o.Program + ":" + strings.Join(parts, ",")
}

// Limits keep all times within 63 bits and all counts within their words.
const (
	maxIterations = 1 << 40
	maxWork       = 1 << 32
	maxClock      = 1 << 40

	// of all processes, where sizes have no closed form: seconds of hashing
	maxHashedSteps = 200_000_000
)

func (o Options) withDefaults() (Options, error) {
	def := func(v *uint64, d uint64) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Program == "" {
		o.Program = "stencil"
	}
	o.Processes, o.Threads = positive(o.Processes, 4), positive(o.Threads, 1)
	if o.Program == "irregular" {
		o.Depth = positive(o.Depth, 4)
	}
	o.Depth = positive(o.Depth, 1)
	if o.Iterations == 0 {
		def(&o.Events, 10_000)
	}
	def(&o.Work, 50_000)
	def(&o.Bytes, 8192)
	def(&o.Chunk, 1<<16)
	if o.Program == "stencil" {
		def(&o.Every, 10)
	}
	for _, x := range o.table() {
		if v := x.value(); v > x.max {
			return o, fmt.Errorf("%w: %s=%d is beyond %d", ErrOptions, x.name, v, x.max)
		}
	}
	if o.Broken&messagingDefects != 0 && o.Processes < 2 {
		return o, fmt.Errorf("%w: faults of messages and collectives need two processes", ErrOptions)
	}
	return o, nil
}

func positive(v, d int) int {
	if v <= 0 {
		return d
	}
	return v
}
