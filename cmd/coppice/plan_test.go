package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// planSite describes a machine in a file.
func planSite(t *testing.T, dir, more string) string {
	t.Helper()
	path := filepath.Join(dir, "site.toml")
	text := "schema = \"coppice.site/1\"\ncores = 4\nmemory_gib = 64\ncoppice = \"/apps/coppice\"\n" + more
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// planJSON is what tests read of a plan.
type planJSON struct {
	Processes int `json:"processes"`
	Plan      struct {
		Scheduler string `json:"scheduler"`
		Jobs      []struct {
			Verb     string   `json:"verb"`
			Input    string   `json:"input"`
			Output   string   `json:"output"`
			Ranks    int      `json:"ranks"`
			Nodes    int      `json:"nodes"`
			Decided  string   `json:"decided"`
			Limit    int      `json:"time_limit_seconds"`
			Command  []string `json:"command"`
			Script   string   `json:"script"`
			Requires *int     `json:"requires"`
			Bounds   []struct {
				Name  string `json:"name"`
				Ranks int    `json:"ranks"`
			} `json:"bounds"`
		} `json:"jobs"`
		Submitted []struct{ ID string } `json:"submitted"`
	} `json:"plan"`
}

func TestPlanTrace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run 1")
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=12,events=24k")
	site := planSite(t, t.TempDir(), "")
	args := []string{"plan", "analyze", filepath.Join(dir, "traces.otf2"), "--site", site, "--rate", "100", "--goal", "30s", "--sequential", "0.5"}
	doc := jsonOf[planJSON](t, args...)
	j := doc.Plan.Jobs[0]
	if doc.Processes != 12 || len(doc.Plan.Jobs) != 1 || j.Ranks != 12 || j.Nodes != 3 || j.Decided != "locations" || j.Output != "run 1.xtf" || j.Requires != nil {
		t.Errorf("%+v", doc)
	}
	if got := strings.Join(j.Command, " "); !strings.HasPrefix(got, "srun --mpi=pmix --kill-on-bad-exit=0 /apps/coppice analyze ") || !strings.Contains(got, " --resume --mem ") {
		t.Errorf("command %s", got)
	}
	for _, want := range []string{"#SBATCH --nodes=3\n#SBATCH --ntasks=12\n#SBATCH --ntasks-per-node=4\n", "run 1/traces.otf2' -o 'run 1.xtf'", "limited by the locations"} {
		if !strings.Contains(j.Script, want) {
			t.Errorf("no %q in\n%s", want, j.Script)
		}
	}
	if script := must(t, append(args, "--format", "script")...); script != j.Script {
		t.Error("--format script and --format json give two scripts")
	}
	text := must(t, args...)
	for _, want := range []string{"12, limited by the locations", "longest location", "3 with up to 4 ranks, by their cores", "--submit puts it into the queue"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = must(t, "plan", "analyze", dir, "--calibrate", "--ranks", "2", "--nodes", "2", "--mem", "300M", "--time", "90m", "--scheduler", "pbs", "--", "--events", "none")
	for _, want := range []string{"2, limited by the flag --ranks", "2 with up to 1 rank, by their flag --nodes", "300 MiB a rank, by flag --mem", "90 min, by flag --time", "mpirun -n 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestPlanChain plans what comes after what is not there yet.
func TestPlanChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	platform := filepath.Join(dir, "p.toml")
	if err := os.WriteFile(platform, []byte("schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 1000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var doc planJSON
	decode(t, must(t, "plan", "--format", "json", "record", "run1", "--ranks", "512", "--time", "30m", "--expect", "200GB", "--site", planSite(t, dir, "result_per_input = 0.5\n"),
		"--then", "analyze -o 'it''s.xtf' --interval region:solve", "--then", "predict --platform "+platform, "--", "--cpu-time", "--", "./program", "input file"), &doc)
	list := doc.Plan.Jobs
	if len(list) != 3 {
		t.Fatalf("%+v", doc)
	}
	for i, want := range []struct {
		verb, input, output, command string
	}{
		{"record", "run1", "run1/traces.otf2", "/apps/coppice record -o run1 --cpu-time -- srun --mpi=pmix --kill-on-bad-exit=0 ./program input file"},
		{"analyze", "run1/traces.otf2", "its.xtf", "srun --mpi=pmix --kill-on-bad-exit=0 /apps/coppice analyze run1/traces.otf2 -o its.xtf --interval region:solve --resume --mem"},
		{"predict", "its.xtf", "", "srun --mpi=pmix --kill-on-bad-exit=0 /apps/coppice predict its.xtf --platform " + platform + " --resume --mem"},
	} {
		j := list[i]
		if j.Verb != want.verb || j.Input != filepath.FromSlash(want.input) || j.Output != filepath.FromSlash(want.output) || !strings.HasPrefix(strings.Join(j.Command, " "), want.command) {
			t.Errorf("job %d: %+v, want %+v", i, j, want)
		}
		if (j.Requires == nil) != (i == 0) || i > 0 && *j.Requires != i-1 {
			t.Errorf("job %d requires %v", i, j.Requires)
		}
	}
	if list[0].Ranks != 512 || list[0].Nodes != 128 || list[0].Limit != 1800 || strings.Contains(list[0].Script, "--mem-per-cpu") {
		t.Errorf("record: %+v", list[0])
	}
	// 200 GB of 512 parts at 10 MB/s in 15 minutes
	if list[1].Ranks != 32 || list[1].Decided != "goal" || list[2].Ranks != 16 {
		t.Errorf("analyze with %d ranks, predict with %d", list[1].Ranks, list[2].Ranks)
	}
}

func TestPlanUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=2,events=200")
	bad := planSite(t, dir, "core = 3\n")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"analyze", jobs.ExitUsage, "name a verb and its input"},
		{"report x", jobs.ExitUsage, `"report" cannot be planned: choose record`},
		{"analyze none.otf2", jobs.ExitInput, "none.otf2"},
		{"analyze T --site none.toml", jobs.ExitInput, "none.toml"},
		{"analyze T --site " + bad, jobs.ExitInput, "site.toml:5: core: unknown key"},
		{"analyze T --format html", jobs.ExitUsage, "choose text, json or script"},
		{"analyze T --format script --submit", jobs.ExitUsage, "--format script prints one job"},
		{"analyze T --follow", jobs.ExitUsage, "--follow shows what --submit submitted"},
		{"analyze T --rate 0", jobs.ExitUsage, "--rate 0"},
		{"analyze T --rate 1MB --calibrate", jobs.ExitUsage, "give one of them"},
		{"analyze T --goal 0s", jobs.ExitUsage, "--goal"},
		{"analyze T --sequential 2", jobs.ExitUsage, "--sequential"},
		{"analyze T --ranks -1", jobs.ExitUsage, "at least 0"},
		{"analyze T --mem 1M", jobs.ExitUsage, "64 MiB at least"},
		{"analyze T --launcher srun --scheduler lsf", jobs.ExitUsage, "srun with Slurm alone"},
		{"analyze T --scheduler cron", jobs.ExitUsage, "scheduler: allowed is slurm"},
		{"analyze T -- --no-such-flag", jobs.ExitUsage, "unknown flag: --no-such-flag"},
		{"analyze T -- --events some", jobs.ExitUsage, "--events some"},
		{"analyze T --then analyze", jobs.ExitUsage, "after analyze comes one of predict, export"},
		{"analyze T --then predict", jobs.ExitUsage, "--platform P.toml is missing"},
		{"analyze T --then export", jobs.ExitUsage, "--to otf2"},
		{"record new -- ./p", jobs.ExitUsage, "--ranks is missing"},
		{"record new --ranks 2 --time 1h", jobs.ExitUsage, "no program"},
		{"record new --ranks 2 -- ./p", jobs.ExitUsage, "--time is missing"},
		{"record new --ranks 2 --time 1h --then analyze -- ./p", jobs.ExitUsage, "--expect is missing"},
		{"predict none.xtf -- --platform p.toml", jobs.ExitInput, "none.xtf"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, " T", " "+dir))
		code, out, errs := call(append([]string{"plan"}, args...)...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("plan %s: exit code %d, %q%s; want %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}

// TestPlanHostileNames plans for inputs with names that somebody may have.
func TestPlanHostileNames(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	for _, name := range []string{"a b", "it's", "$(touch pwned)", "a\nb", "-x", "#SBATCH"} {
		must(t, "demo", "-o", "./"+name, "--spec", "ring:procs=2,events=200")
		script := must(t, "plan", "analyze", "--format", "script", "./"+name)
		if strings.Contains(script, "\nb") || !strings.Contains(script, "srun ") {
			t.Errorf("%q:\n%s", name, script)
		}
	}
	if got := plainPath("-x/traces.otf2"); got != "./-x/traces.otf2" {
		t.Errorf("a path that looks like a flag becomes %s", got)
	}
}

func TestDefaultOutput(t *testing.T) {
	for _, c := range []struct{ verb, input, want string }{
		{"analyze", "scorep-run/traces.otf2", "scorep-run.xtf"},
		{"analyze", "scorep-run", "scorep-run.xtf"},
		{"analyze", "scorep-run/", "scorep-run.xtf"},
		{"analyze", "a/epoch.prv.gz", "epoch.xtf"},
		{"analyze", "a/b.otf2", "b.xtf"},
		{"analyze", "/", "run.xtf"},
		{"export", "a/run.xtf", "run-otf2"},
	} {
		if got := defaultOutput(c.verb, filepath.FromSlash(c.input)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.verb, c.input, got, c.want)
		}
	}
}

// TestFollowInfo follows a job that has ended, and a file that is not of a job.
func TestFollowInfo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job.status")
	for _, x := range []struct {
		text, out, errs string
		code            int
	}{
		{`{"schema":"coppice.status/1","time":"2026-11-20T23:41:07Z","state":"done","share":1}`, "2026-11-20T23:41:07Z done\n", "", jobs.ExitDone},
		{"{}", "", "not a status file", jobs.ExitInput},
	} {
		if err := os.WriteFile(path, []byte(x.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := call("info", path, "--follow"); code != x.code || out != x.out || !strings.Contains(errs, x.errs) {
			t.Errorf("%s: exit code %d, %s, %s", x.text, code, out, errs)
		}
	}
}
