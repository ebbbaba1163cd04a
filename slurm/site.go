package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// SiteSchema is the value of schema in a site file.
const SiteSchema = "coppice.site/1"

// mostSite is the most bytes of a site file.
const mostSite = 1 << 20

// ErrSite is wrapped by every error about a site file.
var ErrSite = errors.New("site")

// Site describes a machine, as in a site file. Zero means that the file does not say.
type Site struct {
	Scheduler string // one of Schedulers; "": slurm
	Launcher  string // srun or mpirun; "": the scheduler's usual one
	MPI       string // value of srun --mpi; "": pmix

	Partition string // or queue
	Account   string
	Options   []string // further directives, such as --constraint=haswell
	Modules   []string // loaded before the command
	Commands  []string // lines of bash before the command
	Coppice   string   // path of coppice on the nodes

	Cores     int     // of a node
	Memory    float64 // GiB of a node
	Bandwidth float64 // GB/s of the file system, for one job
	Rate      float64 // MB/s of the input, for one rank
	Growth    float64 // bytes of a result for each byte of the trace
	MaxRanks  int     // of a job
	MaxTime   int     // minutes of a job
	Notice    int     // seconds between the signal and the time limit
	Requeue   *bool   // whether jobs may queue themselves again; nil: true
}

// siteKeys are the keys of a site file. 0 and "" mean the same as a missing key.
var siteKeys = []tomltree.Key[Site]{
	tomltree.SchemaKey[Site](SiteSchema),
	textKey("scheduler", strings.Join(Schedulers(), ", "), isScheduler, func(s *Site) *string { return &s.Scheduler }),
	textKey("launcher", "srun, mpirun", isLauncher, func(s *Site) *string { return &s.Launcher }),
	textKey("mpi", aName, isName, func(s *Site) *string { return &s.MPI }),
	textKey("partition", aName, isName, func(s *Site) *string { return &s.Partition }),
	textKey("account", aName, isName, func(s *Site) *string { return &s.Account }),
	listKey("options", "options of the scheduler's command, each beginning with -", func(o string) bool { return strings.HasPrefix(o, "-") && isPrintable(o) },
		func(s *Site) *[]string { return &s.Options }),
	listKey("modules", "names of modules", func(m string) bool { return m != "" }, func(s *Site) *[]string { return &s.Modules }),
	listKey("commands", "lines of bash", func(c string) bool { return !strings.ContainsAny(c, "\r\x00") }, func(s *Site) *[]string { return &s.Commands }),
	textKey("coppice", "a path", func(c string) bool { return !strings.ContainsRune(c, 0) }, func(s *Site) *string { return &s.Coppice }),
	numberKey("cores", 1, 1<<20, func(s *Site) *int { return &s.Cores }),
	numberKey("memory_gib", 0.125, 1<<20, func(s *Site) *float64 { return &s.Memory }),
	numberKey("bandwidth_gb_per_s", 1e-3, 1e6, func(s *Site) *float64 { return &s.Bandwidth }),
	numberKey("rate_mb_per_s", 1e-3, 1e6, func(s *Site) *float64 { return &s.Rate }),
	numberKey("result_per_input", 1e-6, 1e3, func(s *Site) *float64 { return &s.Growth }),
	numberKey("max_ranks", 1, 1<<24, func(s *Site) *int { return &s.MaxRanks }),
	numberKey("max_minutes", 10, 1e6, func(s *Site) *int { return &s.MaxTime }),
	numberKey("notice_seconds", 1, 65535, func(s *Site) *int { return &s.Notice }),
	{Name: "requeue", Allowed: "false, true", Read: func(s *Site, v *tomltree.Value) bool {
		s.Requeue = new(v.Text == "true")
		return v.Kind == tomltree.Bool
	}},
}

const aName = "letters, digits and any of . _ + : @ % / -, not beginning with -"

func textKey(name, allowed string, ok func(string) bool, at func(*Site) *string) tomltree.Key[Site] {
	return tomltree.TextKey(name, allowed, func(text string) bool { return text == "" || ok(text) }, at)
}

func listKey(name, allowed string, ok func(string) bool, at func(*Site) *[]string) tomltree.Key[Site] {
	return tomltree.Key[Site]{Name: name, Allowed: allowed, Read: func(s *Site, v *tomltree.Value) bool {
		for _, x := range v.Items {
			if x.Kind != tomltree.String || !ok(x.Text) {
				return false
			}
			*at(s) = append(*at(s), x.Text)
		}
		return v.Kind == tomltree.List
	}}
}

func numberKey[N int | float64](name string, least, most float64, at func(*Site) *N) tomltree.Key[Site] {
	return tomltree.Key[Site]{Name: name, Allowed: fmt.Sprintf("a number of %s to %s", decimal(least), decimal(most)), Read: func(s *Site, v *tomltree.Value) bool {
		*at(s) = N(v.Number)
		whole := float64(*at(s)) == v.Number
		return (v.Kind == tomltree.Integer || v.Kind == tomltree.Float) && whole && (v.Number == 0 || v.Number >= least && v.Number <= most)
	}}
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// ReadSite reads a site file strictly: unknown keys and invalid values are errors. They wrap ErrSite and name file, line and key.
func ReadSite(name string, text []byte) (*Site, error) {
	s := &Site{}
	in, root, err := tomltree.Open(name, ErrSite, text, mostSite, 1<<12)
	if err == nil {
		err = tomltree.ReadTable(in, root, "", siteKeys, s)
	}
	if err == nil {
		err = in.NeedsSchema(SiteSchema)
	}
	if err == nil && s.Check() != nil {
		err = in.Wrong("launcher", strconv.Quote(s.Launcher), "srun with Slurm alone")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Check checks a scheduler and launcher that did not come from a file.
func (s *Site) Check() error {
	switch {
	case !isScheduler(s.Name()):
		return fmt.Errorf("%w: scheduler: allowed is %s", ErrSite, strings.Join(Schedulers(), ", "))
	case s.Launcher != "" && !isLauncher(s.Launcher):
		return fmt.Errorf("%w: launcher: allowed is srun, mpirun", ErrSite)
	case s.Launcher == "srun" && s.Name() != "slurm":
		return fmt.Errorf("%w: launcher: allowed is srun with Slurm alone", ErrSite)
	}
	return nil
}

func isScheduler(name string) bool { return slices.Contains(Schedulers(), name) }

func isLauncher(name string) bool { return name == "srun" || name == "mpirun" }

// isName reports whether text can be used unquoted in directives of all schedulers.
func isName(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._+:@%/-", r)
	})
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Name is the name of the scheduler.
func (s *Site) Name() string {
	if s.Scheduler == "" {
		return "slurm"
	}
	return s.Scheduler
}

func (s *Site) launcher() string {
	switch {
	case s.Launcher != "":
		return s.Launcher
	case s.Name() == "slurm":
		return "srun"
	}
	return "mpirun"
}

// notice returns how long before its time limit a job is signalled to stop.
func (s *Site) notice() time.Duration {
	if s.Notice == 0 {
		return 3 * time.Minute
	}
	return time.Duration(s.Notice) * time.Second
}
