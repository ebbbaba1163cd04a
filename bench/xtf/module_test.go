//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

// versions are the modules that a go.mod names, with their versions.
func versions(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && strings.HasPrefix(f[1], "v") {
			v[f[0]] = f[1]
		}
	}
	return v
}

// The module of bbolt uses the project: where the project takes another version of what both need, it does not build until
// "go mod tidy" was run there too.
func TestModuleOfBboltFollowsTheProject(t *testing.T) {
	project := versions(t, "../../go.mod")
	for name, v := range versions(t, "bbolt/go.mod") {
		if want, ok := project[name]; ok && v != want {
			t.Errorf("bbolt/go.mod has %s %s, the project %s: run go mod tidy in bench/xtf/bbolt", name, v, want)
		}
	}
}
