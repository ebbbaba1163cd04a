package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// platformFile writes a platform with random parameters; some are impossible.
func (r *round) platformFile(x *rand.Rand) string {
	var b strings.Builder
	pick := func(list ...string) string { return list[x.IntN(len(list))] }
	fmt.Fprintf(&b, "schema = \"coppice.platform/1\"\nname = \"soak\"\nreceive_policy = %q\ncontention = %q\nrendezvous = %q\n",
		pick("dma", "copy", "arrival"), pick("none", "none", "nic", "links"), pick("latency", "nolatency"))
	fmt.Fprintf(&b, "[nodes]\nranks_per_node = %d\nmapping = %q\n", 1+x.IntN(8), pick("block", "cyclic"))
	if x.IntN(3) == 0 {
		fmt.Fprintf(&b, "nics = %d\n", 1+x.IntN(3))
	}
	if x.IntN(2) == 0 {
		fmt.Fprintf(&b, "[compute]\nscale = %s\n", pick("0.5", "1", "2.75", "1e-9", "0", "-1", "1e12"))
	}
	for _, link := range []string{"net", "node"} {
		fmt.Fprintf(&b, "[links.%s]\nL_ns = %d\no_send_ns = %d\no_recv_ns = %d\ng_ns = %d\nG_ns_per_byte = %.3f\n",
			link, logUniform(x, 1e7), logUniform(x, 1e4), logUniform(x, 1e4), logUniform(x, 1e4), x.Float64()*10)
		if x.IntN(2) == 0 {
			fmt.Fprintf(&b, "eager_bytes = %d\n", logUniform(x, 1<<20))
		}
	}
	if x.IntN(2) == 0 {
		b.WriteString(pick("[topology]\nkind = \"flat\"\n", "[topology]\nkind = \"fat-tree\"\ndown = [4, 4]\nup = [1, 2]\n",
			"[topology]\nkind = \"torus\"\ndims = [4, 3, 2]\n", "[topology]\nkind = \"dragonfly\"\ngroups = 3\nrouters = 2\nports = 2\n"))
	}
	if x.IntN(3) == 0 {
		fmt.Fprintf(&b, "[filesystem]\nopen_ns = %d\ntotal_bytes_per_s = %d\n", logUniform(x, 1e6), 1+logUniform(x, 1e10))
	}
	if x.IntN(3) == 0 {
		fmt.Fprintf(&b, "[collectives]\ngamma_ns_per_byte = 0.1\nmodel = %t\nallreduce = [ { max_bytes = 2048, algorithm = %q }, { algorithm = %q } ]\n",
			x.IntN(2) == 0, pick("recursive-doubling", "ring"), pick("rabenseifner", "ring", "recursive-doubling"))
	}
	text := []byte(b.String())
	if x.IntN(10) == 0 {
		text, _ = tracetest.Damage(x, text)
	}
	path := r.path("platform.toml")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		r.fail("%v", err)
	}
	return path
}

// stepPredict predicts the run on random machines: the same report on other ranks, and the same predicted run, which checks clean.
func stepPredict(r *round, x *rand.Rand) {
	p := r.platformFile(x)
	r.expect(r.coppice("platform", "show", p), 0, 3)
	format := []string{"text", "json", "csv"}[x.IntN(3)]
	args := []string{"predict", r.run, "--platform", p, "-q", "--format", format}
	maybe := func(n int, more ...string) {
		if x.IntN(n) == 0 {
			args = append(args, more...)
		}
	}
	maybe(4, "--host-platform", p)
	maybe(4, "--cpu-scale", []string{"0.7", "1", "30"}[x.IntN(3)])
	maybe(4, "--substitute", "copy")
	maybe(4, "--classes", []string{"5%", "10us", "0%"}[x.IntN(3)])
	maybe(6, "--sweep", "latency=0.5,1,cpu=1,2")
	maybe(6, "--fail-if", "makespan>1ms")
	out := ""
	if x.IntN(2) == 0 {
		out = r.path("predicted.xtf")
	}
	predict := func(c command, out string) outcome {
		c.args = args
		if out != "" {
			c.args = append(args[:len(args):len(args)], "-o", out)
		}
		return r.do(c)
	}
	o := predict(command{}, out)
	if !r.expect(o, 0, 1, 2, 3, 4, 5) || o.code > 1 && o.code != 4 {
		return
	}
	if format == "json" {
		var v any
		r.decode(o, &v)
	}
	if strings.Contains(o.out, "NaN") || strings.Contains(o.out, "Inf") {
		r.fail("%s: no numbers", o)
	}
	c := command{env: []string{"GOMAXPROCS=1"}}
	if r.mpi && x.IntN(3) == 0 {
		c.ranks = 1 + x.IntN(3)
	}
	other := ""
	if out != "" {
		other = r.path("predicted2.xtf")
		if left := leftBeside(out); len(left) > 0 {
			r.fail("%s: left behind: %v", o, left)
		}
	}
	again := predict(c, other)
	if again.code != o.code || again.out != strings.ReplaceAll(o.out, out, other) && out == "" {
		r.fail("%s: other output on %d ranks", o, c.ranks)
	}
	if want, err := os.ReadFile(out); err == nil {
		r.sameFile(again.String(), other, want)
		r.expect(r.coppice("check", out), 0)
		r.expect(r.coppice("report", out), 0, 4)
		r.expect(r.coppice("diff", r.run, out), 0, 2, 3, 4)
	}
}

// stepCapacity extracts a model, the same again, and asks it questions.
func stepCapacity(r *round, x *rand.Rand) {
	model := r.path("model.toml")
	args := []string{"capacity", "extract", r.run}
	maybe := func(n int, more ...string) {
		if x.IntN(n) == 0 {
			args = append(args, more...)
		}
	}
	maybe(4, "--form", []string{"pipeline", "graph", "auto"}[x.IntN(3)])
	maybe(4, "--job", []string{"timestep", "main", "compute", "nothing"}[x.IntN(4)])
	maybe(4, "--repeat", "auto")
	maybe(5, "--cores", fmt.Sprint(1+x.IntN(4)))
	maybe(6, "--map", "0=here:2")
	o := r.coppice(append(args, "-o", model)...)
	if !r.expect(o, 0, 1, 2, 3, 4) || o.code > 1 {
		return
	}
	first, _ := os.ReadFile(model)
	again := r.do(command{args: append(args, "-o", model, "-f"), plain: true})
	if again.code != o.code {
		r.fail("%s: exit codes %d and %d", o, o.code, again.code)
	}
	r.sameFile(again.String(), model, first)
	if x.IntN(4) == 0 {
		b, _ := tracetest.Damage(x, first)
		_ = os.WriteFile(model, b, 0o666)
	}
	few := []string{"--samples", "5", "--sim-jobs", "50", "--format", "json"}
	for _, verb := range [][]string{
		{"solve", model, "--method", []string{"walk", "bounds", "tree", "sim"}[x.IntN(4)]},
		{"solve", model, "--op", []string{"exp", "fj", "varki", "two"}[x.IntN(4)], "--method", "tree"},
		{"sweep", model, "--vary", "jobs=1..3"},
		{"check", model},
		{"plan", model, "--max-response", "1000", "--vary", "jobs=1,2", "--no-sim"},
	} {
		if x.IntN(2) == 0 {
			continue
		}
		args := append(append([]string{"capacity"}, verb...), few...)
		o := r.coppice(args...)
		if r.expect(o, 0, 1, 2, 3) && o.code < 2 {
			var v any
			r.decode(o, &v)
			if again := r.do(command{args: args, plain: true}); again.out != o.out {
				r.fail("%s: twice the same, other output", o)
			}
		}
	}
}

// stepPlan sizes jobs: scripts that a shell can read.
func stepPlan(r *round, x *rand.Rand) {
	scheduler := []string{"slurm", "pbs", "lsf", "flux", "mpirun"}[x.IntN(5)]
	args := []string{"plan", "analyze", r.in.path, "-o", "later.xtf", "--scheduler", scheduler, "--format", []string{"text", "json", "script"}[x.IntN(3)]}
	if x.IntN(3) == 0 {
		args = append(args, "--goal", []string{"1s", "1h", "1ns"}[x.IntN(3)])
	}
	if x.IntN(3) == 0 {
		args = append(args, "--sequential", []string{"0", "0.01", "1", "7"}[x.IntN(4)])
	}
	if x.IntN(3) == 0 {
		args = append(args, "--ranks", fmt.Sprint(logUniform(x, 1<<40)))
	}
	o := r.coppice(args...)
	r.expect(o, 0, 2, 3, 5)
}
