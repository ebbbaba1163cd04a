package view

import (
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestAssets bounds the size of the page's files, and keeps the rules by which they become one file.
func TestAssets(t *testing.T) {
	t.Parallel()
	size := int64(0)
	owner := map[string]string{}
	top := regexp.MustCompile(`(?m)^(?:export )?(?:const|let|class|function|async function) ([A-Za-z0-9_$]+)`)
	word := regexp.MustCompile(`(?m)^(import|export)\b.*$`)
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		size += int64(len(b))
		if !strings.HasSuffix(name, ".js") {
			return nil
		}
		for _, m := range top.FindAllStringSubmatch(string(b), -1) {
			if other, ok := owner[m[1]]; ok {
				t.Errorf("%s and %s both have %s", other, name, m[1])
			}
			owner[m[1]] = name
		}
		for _, line := range word.FindAllString(string(b), -1) {
			if !importLine.MatchString(line+"\n") && !exportWord.MatchString(line) {
				t.Errorf("%s: %q cannot be joined", name, line)
			}
		}
		if lines := strings.Count(string(b), "\n"); lines > 500 {
			t.Errorf("%s has %d lines", name, lines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > 250_000 {
		t.Errorf("the files of the page take %d bytes", size)
	}
	t.Logf("%d bytes", size)
}

// TestBundle joins the page's program.
func TestBundle(t *testing.T) {
	t.Parallel()
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		t.Fatal(err)
	}
	text, err := bundle(files, "main.js")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^(import|export) .*`).FindString(text); m != "" {
		t.Errorf("left over: %s", m)
	}
	names, err := fs.Glob(files, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(exportWord.ReplaceAllString(strings.TrimSpace(importLine.ReplaceAllString(string(b), "")), "$1 "), "\n")
		if strings.Count(text, first) < 1 {
			t.Errorf("%s is not in the program", name)
		}
	}
}

// TestBundleOrder puts modules after those they import, and finds circles.
func TestBundleOrder(t *testing.T) {
	t.Parallel()
	modules := func(imports map[string]string) fs.FS {
		files := fstest.MapFS{}
		for name, list := range imports {
			text := ""
			for _, m := range list {
				text += fmt.Sprintf("import { %c } from './%c.js';\n", m, m)
			}
			files[name+".js"] = &fstest.MapFile{Data: []byte(text + "export const " + name + " = 1;\n")}
		}
		return files
	}
	got, err := bundle(modules(map[string]string{"a": "bc", "b": "d", "c": "bd", "d": ""}), "a.js")
	if want := "const d = 1;\nconst b = 1;\nconst c = 1;\nconst a = 1;\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := bundle(modules(map[string]string{"a": "b", "b": "c", "c": "a"}), "a.js"); err == nil {
		t.Error("a circle was not found")
	}
}

// TestContrast computes the contrast of the colours of both themes by WCAG: text 4.5, parts of pictures 3.
func TestContrast(t *testing.T) {
	t.Parallel()
	b, err := embedded.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	css := string(b)
	variable := regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)
	themes := map[string]map[string]string{}
	for name, head := range map[string]string{"light": ":root {", "dark": ":root[data-dark] {"} {
		at := strings.Index(css, head)
		end := strings.Index(css[at:], "}")
		themes[name] = map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(css[at:at+end], -1) {
			themes[name][m[1]] = m[2]
		}
	}
	for name, c := range themes {
		for _, x := range []struct {
			front, back string
			least       float64
		}{
			{"text", "bg", 4.5},
			{"text", "panel", 4.5},
			{"text", "row", 4.5},
			{"text", "lane", 4.5},
			{"dim", "bg", 4.5},
			{"dim", "panel", 4.5},
			{"dim", "row", 4.5},
			{"accent", "bg", 4.5},
			{"accent", "panel", 4.5},
			{"accent", "row", 4.5},
			{"bad", "row", 4.5},
			{"mark", "bg", 4.5},
			{"edge", "bg", 3},
			{"wait", "bg", 3},
			{"critical", "bg", 3},
			{"select", "bg", 3},
			{"arrow", "bg", 3},
			{"c0", "bg", 3},
			{"c1", "bg", 3},
			{"c2", "bg", 3},
			{"c3", "bg", 3},
			{"c4", "bg", 3},
			{"c5", "bg", 3},
			{"c6", "bg", 3},
			{"c7", "bg", 3},
		} {
			if got := contrast(t, c[x.front], c[x.back]); got < x.least {
				t.Errorf("%s: %s on %s has contrast %.2f, less than %g", name, x.front, x.back, got, x.least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for k, weight := range []float64{0.2126, 0.7152, 0.0722} {
		if len(colour) != 7 {
			t.Fatalf("colour %q", colour)
		}
		n, err := strconv.ParseUint(colour[1+2*k:3+2*k], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += float64(weight * v)
	}
	return sum
}
