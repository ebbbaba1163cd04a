package csvwriter

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCells(t *testing.T) {
	for _, x := range []struct{ cell, want string }{
		{"MPI_Send", "MPI_Send"},
		{"", ""},
		{"-5", "-5"},
		{"-1.5e-07", "-1.5e-07"},
		{"+3", "+3"},
		{"-", "'-"},
		{"=1+1", "'=1+1"},
		{"+SUM(A1)", "'+SUM(A1)"},
		{"-2+3", "'-2+3"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1", "'\t=1"},
		{"\r=1", "\"'\r=1\""},
		{"\n=1", "\"'\n=1\""},
		{`=HYPERLINK("http://x","y")`, `"'=HYPERLINK(""http://x"",""y"")"`},
		{"a=1", "a=1"},
		{"operator-", "operator-"},
		{"a\xff\xfeb", "a\uFFFDb"},
	} {
		var b strings.Builder
		if err := New(&b).WriteAll([][]string{{"name", x.cell}}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != "name,"+x.want+"\n" {
			t.Errorf("%q: %q, want %q", x.cell, got, x.want)
		}
	}
}

// TestOnlyWriter looks for code that writes CSV by itself.
func TestOnlyWriter(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "csvwriter.go":
			return nil
		}
		files++
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), "csv.NewWriter(") {
			t.Errorf("%s writes CSV past this package", path)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}
