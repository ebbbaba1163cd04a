package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// repository is where the documents are.
const repository = "../.."

// documents are the texts for people.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/format/*.md", "docs/guide/*.md", "record/examples/*.md", "bench/*.md", "cmd/coppice/topics/*.txt"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 30 {
		t.Fatalf("only %d documents", len(list))
	}
	return list
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	markup  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// anchors are the names that links to the headings of a document have.
func anchors(text string) []string {
	var list []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		list = append(list, strings.ReplaceAll(markup.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return list
}

// TestLinks: what documents link to is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := doc
			if path != "" {
				target = filepath.Join(filepath.Dir(doc), path)
			}
			there, err := os.ReadFile(target)
			if st, e := os.Stat(target); e == nil && st.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(string(there)), anchor) {
				t.Errorf("%s: link to %s: no such heading", doc, m[1])
			}
		}
	}
}

// flagsOf are the flags of all verbs and parts by their names; "" has those of all.
func flagsOf() map[string]map[string]bool {
	all := map[string]map[string]bool{"": {"help": true, "version": true}}
	for _, c := range everyVerb(commands(streams{})) {
		name := nameOf(c)
		all[name] = map[string]bool{}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			all[name][f.Name], all[""][f.Name] = true, true
		})
	}
	return all
}

var (
	span     = regexp.MustCompile("`[^`\n]+`")
	flagName = regexp.MustCompile(`(?:^|[\s(\[])--([a-z][a-z-]*)`)
	meaning  = regexp.MustCompile(`(\S)  +.*`)
	command  = regexp.MustCompile(`(?:^|[\s$(])(?:[\w./~-]*/)?coppice ([a-z][a-z-]*)( [a-z]+)?`)
)

// commandsIn are the command lines in a document: those of indented and fenced lines, and of spans of code.
func commandsIn(text string, all map[string]map[string]bool) []string {
	var list []string
	inFence := false
	for _, l := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if strings.HasPrefix(l, "```") {
			inFence = !inFence
		}
		if inFence || strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "  ") {
			l = meaning.ReplaceAllString(l, "$1") // what it does is after a command
			if command.MatchString(l) {
				list = append(list, l)
			}
			continue
		}
		for _, s := range span.FindAllString(l, -1) {
			s = strings.Trim(s, "`")
			verb, _, _ := strings.Cut(s, " ")
			switch {
			case command.MatchString(s):
				list = append(list, s)
			case all[verb] != nil && strings.Contains(s, " -"):
				list = append(list, "coppice "+s)
			}
		}
	}
	return list
}

// TestCommands: verbs and flags that documents name exist.
func TestCommands(t *testing.T) {
	t.Parallel()
	all := flagsOf()
	seen := 0
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(string(text), all) {
			for _, at := range command.FindAllStringSubmatchIndex(line, -1) {
				verb, rest := line[at[2]:at[3]], line[at[3]:]
				if verb == "help" {
					continue
				}
				if at[4] >= 0 && all[verb+line[at[4]:at[5]]] != nil {
					verb += line[at[4]:at[5]]
				}
				if all[verb] == nil {
					t.Errorf("%s: no verb %s: %s", doc, verb, line)
					continue
				}
				seen++
				for _, end := range []string{" -- ", " | ", " && ", "; ", " # ", " 'predict"} {
					rest, _, _ = strings.Cut(rest, end)
				}
				if next := command.FindStringIndex(rest); next != nil {
					rest = rest[:next[0]]
				}
				for _, f := range flagName.FindAllStringSubmatch(rest, -1) {
					if !all[verb][f[1]] {
						t.Errorf("%s: coppice %s has no --%s: %s", doc, verb, f[1], line)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands found", seen)
	}
}

// TestGuide: a page of the guide has the program as it is in the planted ones, a picture and a finding, the gallery has each page, and each
// wait state that a report names has one.
func TestGuide(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(repository, "docs", "guide")
	gallery, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "[a-z]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		code := regexp.MustCompile("(?s)```(c|fortran)\n(.*)\n```\n\ncoppice says:\n\n(> [^\n]+)").FindSubmatch(b)
		if code == nil {
			t.Errorf("%s: no program and finding", name)
			continue
		}
		source, err := os.ReadFile(filepath.Join(repository, "record", "examples", "planted", name+map[string]string{"c": ".c", "fortran": ".f90"}[string(code[1])]))
		if err != nil || !strings.Contains(string(source), string(code[2])) {
			t.Errorf("%s: the program is not the planted one: scripts/guide %s writes the page (%v)", name, name, err)
		}
		found += string(code[3]) + "\n"
		picture, err := os.ReadFile(filepath.Join(folder, name+".svg"))
		if err == nil {
			err = xml.Unmarshal(picture, new(struct{ XMLName xml.Name }))
		}
		if err != nil || !strings.Contains(string(b), "("+name+".svg)") || !strings.Contains(string(gallery), "]("+name+".md)") {
			t.Errorf("%s: its picture, or its line of the gallery: %v", name, err)
		}
	}
	for _, pattern := range []string{
		"late sender", "late receiver", "late progress", "late broadcast", "early reduce", "early scan", "late post", "early wait", "lock contention", "wait at barrier",
		"imbalance", "lock wait", "threads idle inside of parallel regions", "file input and output",
	} {
		if !strings.Contains(found, "> "+pattern+":") {
			t.Errorf("no page has the finding %s", pattern)
		}
	}
}
