package slurm

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// hostile are names of files that somebody may have.
var hostile = []string{
	"", "plain", "a b", "a'b", `a"b`, `a\b`, "a\nb", "a\r\n#SBATCH --uid=0\n", "$(touch pwned)", "`touch pwned`", "$HOME", "~", "*", "a;b", "a&b", "a|b",
	"<in", ">out", "#x", "!!", "-rf", "{a,b}", "\ta", "\x01\x7f", "müsli", "\xff\xfe", "'\n'", `\'`, "a'\nb", "%j", "{{.Verb}}", "\\\n", "=", "a=b",
}

func needsBash(t testing.TB) string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	return bash
}

// TestQuote lets bash read the words again.
func TestQuote(t *testing.T) {
	bash := needsBash(t)
	words := slices.Clone(hostile)
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := make([]byte, r.IntN(8))
		for i := range b {
			b[i] = byte(1 + r.IntN(255))
		}
		words = append(words, string(b))
	}
	line := Line(words)
	for _, c := range []byte(line) {
		if c < ' ' || c == 0x7f {
			t.Fatalf("control character %d in the line", c)
		}
	}
	cmd := exec.Command(bash, "--norc", "-c", `printf '%s\0' `+line)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		for i := range min(len(got), len(words)) {
			if got[i] != words[i] {
				t.Fatalf("word %d is %q, want %q", i, got[i], words[i])
			}
		}
		t.Fatalf("%d words, want %d", len(got), len(words))
	}
}

// TestSplit reads lines as bash does.
func TestSplit(t *testing.T) {
	bash := needsBash(t)
	for _, line := range []string{
		"", "  ", "predict --platform p.toml", "a  b\tc", "'a b' \"c d\"", `a\ b`, `"a\"b"`, `"a\b"`, `'a\b'`, `a''b`, `''`, `a"b c"'d e'f`, "a\nb", `"a\\b"`, `"\$x"`,
	} {
		words, err := Split(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		out, err := exec.Command(bash, "--norc", "-c", "set -- "+strings.ReplaceAll(line, "\n", " ")+"\n"+`[ $# -eq 0 ] || printf '%s\0' "$@"`).Output()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
		if len(out) == 0 {
			want = nil
		}
		if !slices.Equal(words, want) {
			t.Errorf("%q: %q, want %q", line, words, want)
		}
	}
	for _, line := range []string{"'a", `"a`, `a\`, `"a\`} {
		if words, err := Split(line); err == nil {
			t.Errorf("%q: %q", line, words)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("predict --platform 'a b' \"c\\\"d\" e\\ f")
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Split(line)
		if err != nil {
			return
		}
		for _, w := range words {
			if strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return // Line writes them in a form that Split does not read
			}
		}
		again, err := Split(Line(words))
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q: %q, then %q, %v", line, words, again, err)
		}
	})
}
