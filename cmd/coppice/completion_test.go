package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletion asks the shells to complete, each by what runs behind its key.
func TestCompletion(t *testing.T) {
	// Each reads lines, of which the last word is to be completed, and writes a line of what there is.
	asks := map[string][]string{
		"bash": {"-c", `source "$0"
			while read -r -a COMP_WORDS; do COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _coppice; echo "${COMPREPLY[*]}"; done`},
		// compadd, which zsh calls with what the function gives, takes the words with the right beginning.
		"zsh": {"-f", "-c", `autoload -Uz compinit; compinit -u -D; source "$0"
			while read -r -A COMP_WORDS; do COMP_CWORD=$(($#COMP_WORDS - 1)); all=($(compgen -F _coppice)); echo ${(M)all:#$COMP_WORDS[-1]*}; done`},
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
	}
	var keys string
	for _, l := range lines {
		keys += l[0] + "\n"
	}
	for shell, args := range asks {
		t.Run(shell, func(t *testing.T) {
			dir := t.TempDir()
			script := filepath.Join(dir, "coppice")
			if err := os.WriteFile(script, []byte(must(t, "completion", shell)), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("no %s to complete", shell)
			}
			cmd := exec.Command(shell, append(args, script)...)
			cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), append(os.Environ(), "HOME="+dir), strings.NewReader(keys)
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
