package interval

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"path"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/trace"
)

// ErrOption is wrapped by the errors of all refused options.
var ErrOption = errors.New("interval options")

// MaxSlices is the most slices of a run.
const MaxSlices = 1 << 14

// Flags are the options of intervals as a user writes them. The zero value is the default.
type Flags struct {
	Markers    string   // auto (""), none, or forms: f1,f2,...
	Intervals  []string // region:GLOB or prv:TYPE
	Sidecar    []byte   // contents of the sidecar file, nil: none
	Slice      string   // length of a slice: 100ms, 5000ticks
	SliceCount int      // number of slices of the run
	Between    string   // coll:NAME
	Fold       bool     // recursion counts once
	MarkerCost string   // overhead ("") or mpi
	RecvPoint  string   // wait ("") or post
	Init       string   // include ("") or exclude
}

// Options are checked flags.
type Options struct {
	Forms        FormSet
	Regions      []string // globs over names of regions
	Paraver      []uint64 // event types
	Given        []Given  // intervals of the sidecar file, by process
	Slice        Length   // 0: none
	SliceCount   uint32   // 0: none
	Between      Operation
	Fold         bool
	MarkerCalls  bool              // marker calls are ordinary MPI calls
	PostPoint    bool              // receives count from their posting, else from the call that can block
	WithoutInit  bool              // the program begins after MPI_Init and ends before MPI_Finalize
	givenDigest  [sha256.Size]byte // of the sidecar file
	givenPresent bool              // there is a sidecar file
}

// Length is a length of time: nanoseconds, or ticks of the trace.
type Length struct {
	N     uint64
	Ticks bool
}

// Operation is 1 + a collective operation, 0 for none.
type Operation uint32

// Parse checks the flags. Every error wraps ErrOption and names the flag.
func (f *Flags) Parse() (Options, error) {
	o := Options{Fold: f.Fold}
	for _, step := range []func(*Options) error{f.parseMarkers, f.parseIntervals, f.parseSidecar, f.parseSlices, f.parseChoices} {
		if err := step(&o); err != nil {
			return Options{}, fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	return o, nil
}

func (f *Flags) parseMarkers(o *Options) error {
	switch f.Markers {
	case "", "auto":
		o.Forms = AutoForms
		return nil
	case "none":
		return nil
	}
	for name := range strings.SplitSeq(f.Markers, ",") {
		form := Form(0)
		for k := FormRaw; k <= FormParameter; k++ {
			if strings.EqualFold(name, formNames[k]) {
				form = k
			}
		}
		if form == 0 {
			return fmt.Errorf("--markers %q: choose auto, none, or some of f1 to f7", f.Markers)
		}
		o.Forms |= 1 << form
	}
	return nil
}

func (f *Flags) parseIntervals(o *Options) error {
	for _, s := range f.Intervals {
		kind, rest, _ := strings.Cut(s, ":")
		switch {
		case kind == "region" && rest != "":
			if _, err := path.Match(rest, ""); err != nil {
				return fmt.Errorf("--interval %q: the pattern is malformed", s)
			}
			o.Regions = append(o.Regions, rest)
		case kind == "prv":
			t, err := strconv.ParseUint(rest, 10, 64)
			if err != nil {
				return fmt.Errorf("--interval %q: %q is not a Paraver event type, which is a number", s, rest)
			}
			o.Paraver = append(o.Paraver, t)
		default:
			return fmt.Errorf("--interval %q: write region:GLOB or prv:TYPE", s)
		}
	}
	return nil
}

func (f *Flags) parseSidecar(o *Options) (err error) {
	if f.Sidecar == nil {
		return nil
	}
	o.givenPresent, o.givenDigest = true, sha256.Sum256(f.Sidecar)
	o.Given, err = ParseSidecar(f.Sidecar)
	return err
}

func (f *Flags) parseSlices(o *Options) (err error) {
	if f.Slice != "" && f.SliceCount != 0 {
		return errors.New("--slice and --slice-count exclude each other")
	}
	if f.Slice != "" {
		if o.Slice, err = ParseLength(f.Slice); err != nil || o.Slice.N == 0 {
			return fmt.Errorf("--slice %q: write a length greater than 0, such as 100ms, 20us or 5000ticks", f.Slice)
		}
	}
	if f.SliceCount < 0 || f.SliceCount > MaxSlices {
		return fmt.Errorf("--slice-count %d: 1 to %d slices are possible", f.SliceCount, MaxSlices)
	}
	o.SliceCount = uint32(f.SliceCount)
	if f.Between == "" {
		return nil
	}
	kind, name, _ := strings.Cut(f.Between, ":")
	for op, known := range trace.CollectiveOps {
		if kind == "coll" && strings.EqualFold(known, name) {
			o.Between = Operation(op + 1)
		}
	}
	if o.Between == 0 {
		return fmt.Errorf("--between %q: write coll: and a collective operation, such as coll:Allreduce", f.Between)
	}
	return nil
}

func (f *Flags) parseChoices(o *Options) error {
	for _, c := range []struct {
		flag, value, first, second string
		set                        *bool
	}{
		{"marker-cost", f.MarkerCost, "overhead", "mpi", &o.MarkerCalls},
		{"recv-point", f.RecvPoint, "wait", "post", &o.PostPoint},
		{"init", f.Init, "include", "exclude", &o.WithoutInit},
	} {
		switch c.value {
		case "", c.first:
		case c.second:
			*c.set = true
		default:
			return fmt.Errorf("--%s %q: choose %s or %s", c.flag, c.value, c.first, c.second)
		}
	}
	return nil
}

// units of ParseLength, in nanoseconds; longer names first.
var units = []struct {
	name string
	ns   uint64
}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// ParseLength parses a number with the unit ns, us, ms, s or ticks. Times may have a fraction, down to whole nanoseconds.
func ParseLength(s string) (Length, error) {
	if n, ok := strings.CutSuffix(s, "ticks"); ok {
		v, err := strconv.ParseUint(n, 10, 64)
		return Length{v, true}, err
	}
	for _, u := range units {
		n, ok := strings.CutSuffix(s, u.name)
		if !ok || n == "" || n[len(n)-1] < '0' || n[len(n)-1] > '9' {
			continue
		}
		whole, part, _ := strings.Cut(n, ".")
		v, err := strconv.ParseUint(whole, 10, 64)
		if err != nil {
			return Length{}, err
		}
		hi, ns := bits.Mul64(v, u.ns)
		scale := u.ns
		for _, c := range part {
			scale /= 10
			if c < '0' || c > '9' || scale == 0 {
				return Length{}, fmt.Errorf("%q is not a time of whole nanoseconds", s)
			}
			ns += uint64(c-'0') * scale
		}
		if hi != 0 || ns > 1<<62 {
			return Length{}, fmt.Errorf("%q is too long", s)
		}
		return Length{N: ns}, nil
	}
	return Length{}, fmt.Errorf("%q is not a length of time", s)
}

// InTicks returns the length in ticks of a clock with the given resolution, ticks per second, rounded down. With resolution 0 a tick is a
// nanosecond. ok is false if the result does not fit.
func (l Length) InTicks(resolution uint64) (ticks uint64, ok bool) {
	if l.Ticks || resolution == 0 {
		return l.N, true
	}
	return exact.MulDiv(l.N, resolution, 1e9)
}

func (l Length) String() string {
	if l.Ticks {
		return fmt.Sprintf("%dticks", l.N)
	}
	return fmt.Sprintf("%dns", l.N)
}

// Canonical returns the options that differ from the defaults, in a fixed order, as in the provenance of a file; "" for the defaults. It
// names a sidecar file by the digest of its contents.
func (o *Options) Canonical() string {
	var b []string
	add := func(on bool, format string, args ...any) {
		if on {
			b = append(b, fmt.Sprintf(format, args...))
		}
	}
	add(o.Forms != AutoForms, "markers=%v", o.Forms)
	for _, g := range o.Regions {
		add(true, "interval=region:%q", g)
	}
	for _, t := range o.Paraver {
		add(true, "interval=prv:%d", t)
	}
	add(o.givenPresent, "intervals-file=%x", o.givenDigest)
	add(o.Slice.N != 0, "slice=%v", o.Slice)
	add(o.SliceCount != 0, "slice-count=%d", o.SliceCount)
	add(o.Between != 0, "between=coll:%s", trace.CollectiveName(uint64(o.Between-1)))
	add(o.Fold, "fold-recursion")
	add(o.MarkerCalls, "marker-cost=mpi")
	add(o.PostPoint, "recv-point=post")
	add(o.WithoutInit, "init=exclude")
	return strings.Join(b, " ")
}

var formNames = [NumForms]string{"root", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10"}

// String returns the form's name, as in --markers and in reports.
func (f Form) String() string {
	if f < NumForms {
		return formNames[f]
	}
	return "unknown"
}

// FormSet is a set of forms.
type FormSet uint32

// AutoForms are the forms of --markers auto. FormRegion then means regions that the program declares as phases or dynamic regions.
const AutoForms = FormSet(1<<FormRaw | 1<<FormPortable | 1<<FormCommunicator | 1<<FormLevel | 1<<FormName | 1<<FormRegion | 1<<FormParameter)

// Has reports whether f is in the set.
func (s FormSet) Has(f Form) bool { return s>>f&1 != 0 }

// String returns what --markers accepts.
func (s FormSet) String() string {
	switch s {
	case AutoForms:
		return "auto"
	case 0:
		return "none"
	}
	var names []string
	for f := range NumForms {
		if s.Has(f) {
			names = append(names, formNames[f])
		}
	}
	return strings.Join(names, ",")
}

// FlagsOf is the inverse of Canonical: it returns flags for the same options. whole is false if there was a sidecar file, of which only the
// digest is known. It converts slices in ticks to nanoseconds of a clock with the given resolution, ticks per second.
func FlagsOf(canonical string, resolution uint64) (f Flags, whole bool, err error) {
	whole = true
	for rest := canonical; rest != ""; {
		word, quoted, next, err := canonicalWord(rest)
		if err != nil {
			return Flags{}, false, err
		}
		rest = next
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "markers":
			f.Markers = value
		case "interval":
			f.Intervals = append(f.Intervals, value+quoted)
		case "intervals-file":
			whole = false
		case "slice":
			f.Slice = value
			if n, ok := strings.CutSuffix(value, "ticks"); ok {
				f.Slice, err = nanoseconds(n, resolution)
			}
		case "slice-count":
			f.SliceCount, err = strconv.Atoi(value)
		case "between":
			f.Between = value
		case "fold-recursion":
			f.Fold = true
		case "marker-cost":
			f.MarkerCost = value
		case "recv-point":
			f.RecvPoint = value
		case "init":
			f.Init = value
		default:
			err = fmt.Errorf("%w: %q is not known", ErrOption, name)
		}
		if err != nil {
			return Flags{}, false, err
		}
	}
	_, err = f.Parse()
	return f, whole, err
}

// canonicalWord cuts the next option off s. quoted is the quoted text at the end of the option, unquoted.
func canonicalWord(s string) (word, quoted, rest string, err error) {
	end := strings.IndexAny(s, " \"")
	switch {
	case end < 0:
		return s, "", "", nil
	case s[end] == ' ':
		return s[:end], "", s[end+1:], nil
	}
	text, err := strconv.QuotedPrefix(s[end:])
	if err == nil {
		quoted, err = strconv.Unquote(text)
	}
	if err != nil {
		return "", "", "", fmt.Errorf("%w: %q: the end of the text is missing", ErrOption, s)
	}
	return s[:end], quoted, strings.TrimPrefix(s[end+len(text):], " "), nil
}

func nanoseconds(ticks string, resolution uint64) (string, error) {
	n, err := strconv.ParseUint(ticks, 10, 64)
	if err != nil || resolution == 0 || n > 1<<62/1_000_000_000 {
		return "", fmt.Errorf("%w: slices of %s ticks have no length in another clock", ErrOption, ticks)
	}
	return strconv.FormatUint(max(n*1_000_000_000/resolution, 1), 10) + "ns", nil
}
