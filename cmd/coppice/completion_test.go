package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asCommand is the variable that makes the test binary the command.
const asCommand = "COPPICE_TEST_COMMAND"

func init() {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
}

// TestCompletion asks the shells to complete, each by what runs after its key.
func TestCompletion(t *testing.T) {
	// Each reads lines, of which the last word is to be completed, and writes a line of what there is. What only runs after a key
	// is replaced: compopt of bash, _describe and _arguments of zsh.
	asks := map[string][]string{
		"bash": {"-c", `source "$0"; compopt() { :; }
			while read -r COMP_LINE; do COMP_POINT=${#COMP_LINE} COMPREPLY=(); __start_coppice; echo "${COMPREPLY[*]}"; done`},
		"zsh": {"-f", "-c", `compdef() { :; }; source "$0"; _describe() { found=(${completions%%:*}); }; _arguments() { :; }
			while read -r -A words; do CURRENT=$#words last=$words[-1] found=(); _coppice; echo ${(M)found:#$last*}; done`},
		"fish": {"-c", `source $argv[1]; while read line; echo (complete -C "$line" | string replace -r '\t.*' ''); end`},
	}
	lines := [][2]string{
		{"coppice ana", "analyze"},
		{"coppice analyze --dendro", "--dendrogram"},
		{"coppice capacity ext", "extract"},
		{"coppice capacity solve --pl", "--plot"},
		{"coppice capacity check --st", ""},
		{"coppice check --li", "--limit"},
		{"coppice help exit", "exit-codes"},
		{"coppice help cap", "capacity"},
		{"coppice completion fi", "fish"},
		{"coppice report sc", "scaling"},
		{"coppice report scaling --a", "--at"},
		{"coppice report --no-such", ""},
		{"coppice report run.xtf diag", "diagnostics"},
		{"coppice query run.xtf --source gr", "graph"},
		{"coppice query run.xtf part", "partner"},
	}
	var keys string
	for _, l := range lines {
		keys += l[0] + "\n"
	}
	for shell, args := range asks {
		t.Run(shell, func(t *testing.T) {
			dir := t.TempDir()
			script := filepath.Join(dir, "completion")
			if err := os.WriteFile(script, []byte(must(t, "completion", shell)), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("no %s to complete", shell)
			}
			command := "#!/bin/sh\n" + asCommand + "=1 exec " + os.Args[0] + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(dir, "coppice"), []byte(command), 0o777); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(shell, append(args, script)...)
			cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(keys)
			cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			got := strings.Split(string(out), "\n")
			if err != nil || len(got) != len(lines)+1 {
				t.Fatalf("%v: %.2000s", err, out)
			}
			for i, l := range lines {
				if got[i] != l[1] {
					t.Errorf("%s: %q, want %q", l[0], got[i], l[1])
				}
			}
		})
	}
	if code, _, errs := call("completion", "tcsh"); code != 2 || !strings.Contains(errs, "bash, zsh or fish") {
		t.Errorf("status %d: %s", code, errs)
	}
}
