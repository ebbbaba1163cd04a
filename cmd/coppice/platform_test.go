package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

func TestPlatform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("good.toml", "schema = \"coppice.platform/1\"\n[links]\nnet = {L_ns = 1}\n[nodes]\ncount = 2\nranks_per_node = 3\n")
	bad := put("bad.toml", "schema = \"coppice.platform/1\"\n[links]\nnet = {L_ns = -1}\n")
	cluster := put("c.xml", `<platform><cluster id="c" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/></platform>`)
	dimemas := put("d.cfg", "\"environment information\" {\"m\", 0, \"\", 4, 1000.0, 0, 1};;\n\"node information\" {0, \"\", 2, 1.0, 0.0, 0.0, 1, 1, 0, 0.00001, 1, 1, 0.0};;\n")
	made := filepath.Join(dir, "made.toml")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"platform"}, jobs.ExitUsage, "show, convert or measure"},
		{[]string{"platform", "--help"}, jobs.ExitDone, "coppice platform show"},
		{[]string{"platform", "paint"}, jobs.ExitUsage, "show, convert or measure"},
		{[]string{"platform", "show", good}, jobs.ExitDone, "[links.net]\nL_ns = 1\n"},
		{[]string{"platform", "show", good, "--processes", "4"}, jobs.ExitDone, "# 4 processes on 2 of 2 nodes"},
		{[]string{"platform", "show", good, "--processes", "7"}, jobs.ExitInput, "7 processes do not fit"},
		{[]string{"platform", "show", bad}, jobs.ExitInput, "bad.toml:3: links.net.L_ns: -1; allowed is a time of 0 to 10^12 ns"},
		{[]string{"platform", "show", filepath.Join(dir, "none")}, jobs.ExitInput, "no such file"},
		{[]string{"platform", "convert"}, jobs.ExitUsage, "give one of --loggops"},
		{[]string{"platform", "convert", "--loggops", "L=1", "--simgrid", cluster}, jobs.ExitUsage, "give one of --loggops"},
		{[]string{"platform", "convert", "--loggops", "Q=1"}, jobs.ExitUsage, "no letter of LogGOPSim"},
		{[]string{"platform", "convert", "--loggops", "L=1", "-o", made, "--name", "mine"}, jobs.ExitDone, ""},
		{[]string{"platform", "convert", "--loggops", "L=1", "-o", made}, jobs.ExitUsage, "exist"},
		{[]string{"platform", "show", made}, jobs.ExitDone, "name = \"mine\"\nreceive_policy = \"arrival\"\n"},
		{[]string{"platform", "convert", "--simgrid", cluster}, jobs.ExitDone, "L_ns = 2000\n"},
		{[]string{"platform", "convert", "--simgrid", dimemas}, jobs.ExitInput, "d.cfg"},
		{[]string{"platform", "convert", "--dimemas", dimemas}, jobs.ExitDone, "o_send_ns = 10000\n"},
		{[]string{"platform", "measure"}, jobs.ExitUsage, "mpirun -n 2 coppice platform measure"},
		{[]string{"platform", "measure", "--repetitions", "0"}, jobs.ExitUsage, "at least 1"},
	} {
		code, out, errs := call(c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%v: exit code %d, want %d, with %q\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
	}
}
