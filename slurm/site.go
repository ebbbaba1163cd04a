package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// SiteSchema is what a site file says it is.
const SiteSchema = "coppice.site/1"

// mostSite is how long a site file may be, bytes.
const mostSite = 1 << 20

// ErrSite is what every error about a site file is.
var ErrSite = errors.New("site")

// Site is a machine as a site file describes it; zero values are what the file does not give.
type Site struct {
	Schema    string `toml:"schema"`
	Scheduler string `toml:"scheduler"` // of Schedulers; "" is slurm
	Launcher  string `toml:"launcher"`  // srun or mpirun; "": the usual one of the scheduler
	MPI       string `toml:"mpi"`       // of srun --mpi; "" is pmix

	Partition string   `toml:"partition"` // or queue
	Account   string   `toml:"account"`
	Options   []string `toml:"options"`  // further directives, as --constraint=haswell
	Modules   []string `toml:"modules"`  // loaded before the command
	Commands  []string `toml:"commands"` // lines of bash before the command
	Coppice   string   `toml:"coppice"`  // path of the program on the nodes

	Cores     int     `toml:"cores"`              // of a node
	Memory    float64 `toml:"memory_gib"`         // of a node
	Bandwidth float64 `toml:"bandwidth_gb_per_s"` // of the file system, for one job
	Rate      float64 `toml:"rate_mb_per_s"`      // of the input, for one rank
	Growth    float64 `toml:"result_per_input"`   // bytes of a result for each byte of the trace
	MaxRanks  int     `toml:"max_ranks"`          // of a job
	MaxTime   int     `toml:"max_minutes"`        // of a job
	Notice    int     `toml:"notice_seconds"`     // between the signal and the limit
	Requeue   *bool   `toml:"requeue"`            // jobs may queue themselves again; true where not given
}

// ReadSite reads the text of a site file strictly: unknown keys and values that make no sense are errors, which name file,
// line and key and are ErrSite.
func ReadSite(name string, text []byte) (*Site, error) {
	if len(text) > mostSite {
		return nil, fmt.Errorf("%w file %s: %d bytes: allowed is %d", ErrSite, name, len(text), mostSite)
	}
	s := &Site{}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, siteError(name, err)
	}
	for _, c := range s.checks() {
		if c.wrong {
			return nil, fmt.Errorf("%w file %s%s: %s: allowed is %s", ErrSite, name, lineOf(text, c.key), c.key, c.allowed)
		}
	}
	return s, nil
}

// Check looks at values that did not come from a file.
func (s *Site) Check() error {
	for _, c := range s.checks() {
		if c.wrong {
			return fmt.Errorf("%w: %s: allowed is %s", ErrSite, c.key, c.allowed)
		}
	}
	return nil
}

// siteError gives an error of the TOML library its file, line and key.
func siteError(name string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := &strict.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("%w file %s:%d: %s: unknown key: allowed is %s", ErrSite, name, line, strings.Join(e.Key(), "."), strings.Join(siteKeys, ", "))
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := e.Position()
		return fmt.Errorf("%w file %s:%d: %s", ErrSite, name, line, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return fmt.Errorf("%w file %s: %w", ErrSite, name, err)
}

var siteKeys = []string{
	"schema", "scheduler", "launcher", "mpi", "partition", "account", "options", "modules", "commands", "coppice", "cores", "memory_gib",
	"bandwidth_gb_per_s", "rate_mb_per_s", "result_per_input", "max_ranks", "max_minutes", "notice_seconds", "requeue",
}

// lineOf finds the line of a key for a message; the text is TOML already.
func lineOf(text []byte, key string) string {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if name, _, is := bytes.Cut(line, []byte("=")); is && string(bytes.TrimSpace(name)) == key {
			return fmt.Sprintf(":%d", n)
		}
	}
	return ""
}

// siteCheck says whether a value is wrong and what would be right.
type siteCheck struct {
	key     string
	wrong   bool
	allowed string
}

func (s *Site) checks() []siteCheck {
	const name = "letters, digits and any of . _ + : @ % / -, not beginning with -"
	outside := func(v, least, most float64) bool { return !(v == 0 || v >= least && v <= most) }
	return []siteCheck{
		{"schema", s.Schema != SiteSchema, fmt.Sprintf("%q", SiteSchema)},
		{"scheduler", s.Scheduler != "" && !slices.Contains(Schedulers(), s.Scheduler), strings.Join(Schedulers(), ", ")},
		{"launcher", s.Launcher != "" && s.Launcher != "srun" && s.Launcher != "mpirun", "srun, mpirun"},
		{"launcher", s.Launcher == "srun" && s.Name() != "slurm", "srun with Slurm alone"},
		{"mpi", s.MPI != "" && !isName(s.MPI), name},
		{"partition", s.Partition != "" && !isName(s.Partition), name},
		{"account", s.Account != "" && !isName(s.Account), name},
		{"options", slices.ContainsFunc(s.Options, func(o string) bool { return !strings.HasPrefix(o, "-") || !isPrintable(o) }), "options of the scheduler's command, each beginning with -"},
		{"modules", slices.ContainsFunc(s.Modules, func(m string) bool { return m == "" }), "names of modules"},
		{"commands", slices.ContainsFunc(s.Commands, func(c string) bool { return strings.ContainsAny(c, "\r\x00") }), "lines of bash"},
		{"coppice", strings.ContainsRune(s.Coppice, 0), "a path"},
		{"cores", outside(float64(s.Cores), 1, 1<<20), "a number of 1 to 1048576"},
		{"memory_gib", outside(s.Memory, 0.125, 1<<20), "a number of 0.125 to 1048576"},
		{"bandwidth_gb_per_s", outside(s.Bandwidth, 1e-3, 1e6), "a number of 0.001 to 1000000"},
		{"rate_mb_per_s", outside(s.Rate, 1e-3, 1e6), "a number of 0.001 to 1000000"},
		{"result_per_input", outside(s.Growth, 1e-6, 1e3), "a number of 0.000001 to 1000"},
		{"max_ranks", outside(float64(s.MaxRanks), 1, 1<<24), "a number of 1 to 16777216"},
		{"max_minutes", outside(float64(s.MaxTime), 10, 1e6), "a number of 10 to 1000000"},
		{"notice_seconds", outside(float64(s.Notice), 1, 65535), "a number of 1 to 65535"},
	}
}

// isName tells whether text can be in a directive of any scheduler as it is.
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

// notice is how long before its limit a job gets the signal to stop.
func (s *Site) notice() time.Duration {
	if s.Notice == 0 {
		return 3 * time.Minute
	}
	return time.Duration(s.Notice) * time.Second
}

func (s *Site) requeues() bool { return s.Requeue == nil || *s.Requeue }
