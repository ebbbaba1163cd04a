package view

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestDamagedAnswers turns bits of a file: every answer is that about the sound one, an error that says so, or tells what it leaves
// out. What a request costs does not count, nor which the identity of the file is.
func TestDamagedAnswers(t *testing.T) {
	t.Parallel()
	file := generated(t, "stencil:procs=3,events=600,depth=2,metrics,seed=4")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cost := regexp.MustCompile(`"page_reads":\d+`)
	path := filepath.Join(t.TempDir(), "run.xtf")
	answers := func(b []byte) (codes []int, bodies []string) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := results.Open(path, xtf.Options{})
		if err != nil {
			return nil, nil // it refuses
		}
		defer r.Close()
		s, err := New([]*results.Run{r}, Options{Tool: "test", Token: testToken})
		if err != nil {
			return nil, nil
		}
		for _, e := range examples {
			w := ask(s, e)
			codes, bodies = append(codes, w.Code), append(bodies, cost.ReplaceAllString(w.Body.String(), ""))
		}
		return codes, bodies
	}
	wantCodes, want := answers(sound)
	if len(want) == 0 {
		t.Fatal("the sound file does not open")
	}
	flips := 400
	if testing.Short() {
		flips = 40
	}
	x := rand.New(rand.NewPCG(1, 2))
	opened, lost, refused := 0, 0, 0
	for range flips {
		b, what := tracetest.FlipBit(x, sound)
		codes, got := answers(b)
		if len(got) > 0 {
			opened++
		}
		for i, body := range got {
			tile := strings.HasPrefix(examples[i], "tile/") && codes[i] == 200 && len(body) > 44
			switch {
			case codes[i] == wantCodes[i] && body == want[i]:
			case codes[i] == 500 && strings.Contains(body, `"damaged file"`):
				refused++
			case tile && binary.LittleEndian.Uint32([]byte(body[40:])) > 0,
				codes[i] == 200 && (strings.Contains(body, `"lost":[{`) || strings.Contains(body, `"class":-2`)):
				lost++
			default:
				t.Errorf("%s: %s: status %d, of the sound file %d:\n%.400q\n%.400q", what, examples[i], codes[i], wantCodes[i], want[i], body)
			}
		}
	}
	if p := problemOf(fmt.Errorf("a blob: %w", graph.ErrVersion), "/api/tile"); p.failure.What != "damaged file" {
		t.Errorf("a call graph of another version: %+v", p)
	}
	t.Logf("%d flips, %d of them open; %d answers leave something out, %d are refused", flips, opened, lost, refused)
	if lost == 0 || refused == 0 {
		t.Error("nothing was left out, or nothing refused: the test tells nothing")
	}
}
