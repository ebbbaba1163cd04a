package slurm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const fullSite = `# a whole one
schema = "coppice.site/1"
scheduler = "slurm"
launcher = "mpirun"
mpi = "pmix_v4"
partition = "batch"
account = "proj-1"
options = ["--constraint=milan", "--exclusive"]
modules = ["gcc/13", "openmpi/4.1"]
commands = ["export UCX_TLS=all"]
coppice = "/apps/coppice/bin/coppice"
cores = 128
memory_gib = 512
bandwidth_gb_per_s = 20
rate_mb_per_s = 14.5
result_per_input = 0.5
max_ranks = 4096
max_minutes = 1440
notice_seconds = 240
requeue = false
`

func TestReadSite(t *testing.T) {
	s, err := ReadSite("site.toml", []byte(fullSite))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := &Site{
		Scheduler: "slurm", Launcher: "mpirun", MPI: "pmix_v4", Partition: "batch", Account: "proj-1",
		Options: []string{"--constraint=milan", "--exclusive"}, Modules: []string{"gcc/13", "openmpi/4.1"}, Commands: []string{"export UCX_TLS=all"},
		Coppice: "/apps/coppice/bin/coppice", Cores: 128, Memory: 512, Bandwidth: 20, Rate: 14.5, Growth: 0.5, MaxRanks: 4096, MaxTime: 1440,
		Notice: 240, Requeue: &no,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s.notice() != 4*time.Minute || *s.Requeue {
		t.Error("notice or requeue")
	}
	for _, x := range siteKeys {
		if key := x.Name; !strings.Contains(fullSite, "\n"+key+" = ") {
			t.Errorf("%s is not in the whole file of this test", x.Name)
		}
	}
}

func TestReadSiteErrors(t *testing.T) {
	const head = "schema = \"coppice.site/1\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `s.toml: schema: missing; allowed is "coppice.site/1"`},
		{"other schema", "schema = \"coppice.site/2\"", `s.toml:1: schema: "coppice.site/2"; allowed`},
		{"unknown key", head + "core = 3\n", "s.toml:2: core: unknown key; allowed is account, bandwidth_gb_per_s,"},
		{"unknown table", head + "[nodes]\ncores = 3\n", "s.toml:2: nodes"},
		{"not TOML", head + "cores = \n", "s.toml:2: "},
		{"twice", head + "cores = 1\ncores = 2\n", "s.toml:3: "},
		{"wrong type", head + "cores = \"many\"\n", "s.toml:2: "},
		{"fraction", head + "cores = 1.5\n", "s.toml:2: "},
		{"negative", head + "\ncores = -1\n", "s.toml:3: cores: -1; allowed is a number of 1"},
		{"nan", head + "memory_gib = nan\n", "s.toml:2: memory_gib: nan; allowed"},
		{"inf", head + "rate_mb_per_s = inf\n", "s.toml:2: rate_mb_per_s: inf; allowed"},
		{"huge", head + "cores = 99999999999999999999\n", "s.toml:2: "},
		{"scheduler", head + "scheduler = \"cron\"\n", "s.toml:2: scheduler: \"cron\"; allowed is slurm, pbs, lsf, flux, mpirun"},
		{"launcher", head + "launcher = \"sh\"\n", "s.toml:2: launcher: \"sh\"; allowed is srun, mpirun"},
		{"srun of PBS", head + "scheduler = \"pbs\"\nlauncher = \"srun\"\n", "s.toml:3: launcher: \"srun\"; allowed is srun with Slurm alone"},
		{"partition", head + "partition = \"a b\"\n", "s.toml:2: partition: \"a b\"; allowed is letters"},
		{"partition in two lines", head + "partition = \"a\\n#SBATCH --uid=0\"\n", `s.toml:2: partition: "a\n#SBATCH --uid=0"; allowed is letters`},
		{"account as an option", head + "account = \"--uid=0\"\n", `s.toml:2: account: "--uid=0"; allowed is letters`},
		{"option", head + "options = [\"constraint\"]\n", "s.toml:2: options: [constraint]; allowed is options"},
		{"option in two lines", head + "options = [\"--x\\n#SBATCH --y\"]\n", "s.toml:2: options: [--x\n#SBATCH --y]; allowed"},
		{"module", head + "modules = [\"\"]\n", "s.toml:2: modules: []; allowed"},
		{"mpi", head + "mpi = \"$(id)\"\n", `s.toml:2: mpi: "$(id)"; allowed`},
	} {
		_, err := ReadSite("s.toml", []byte(c.text))
		if !errors.Is(err, ErrSite) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

func FuzzReadSite(f *testing.F) {
	f.Add([]byte(fullSite))
	f.Add([]byte("schema = \"coppice.site/1\"\npartition = \"a\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadSite("s", b)
		if err != nil {
			if !errors.Is(err, ErrSite) {
				t.Fatalf("%v is not ErrSite", err)
			}
			return
		}
		w, _ := big20()
		j := &Job{Verb: "analyze", Size: Fit(w, s, time.Hour), Command: []string{"coppice"}, Resumable: true}
		if _, err := j.Script(s, true); err != nil {
			t.Fatal(err)
		}
	})
}
