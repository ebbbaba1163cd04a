package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// TestArrow: the stream of a window is what export writes of it, of every table, and no longer than allowed.
func TestArrow(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		labels, err := results.NodeLabels(x.Run)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range export.Tables() {
			begin, end := window(x, rng)
			src := &export.Source{
				Run: x.Run, Nodes: labels, Window: results.Span{Begin: begin, End: end},
				Selected: func(p trace.P) bool { r, _ := x.Defs.Process(p); return r <= 1 },
			}
			var want bytes.Buffer
			rows, err := src.Events(table, func(schema *export.Schema) (export.TableWriter, error) {
				return export.NewTable(&want, "arrow", schema)
			})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := src.Rows(table, 1<<60); n != rows || err != nil {
				t.Errorf("%s: %d rows are counted, %v; it has %d", table, n, err, rows)
			}
			path := fmt.Sprintf("arrow?table=%s&t=%d..%d&ranks=0-1", table, begin, end)
			got := ask(s, path+fmt.Sprintf("&max=%d", max(1, rows)))
			if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), want.Bytes()) || got.Header().Get("Content-Type") != "application/vnd.apache.arrow.stream" {
				t.Errorf("%s: status %d, %d bytes; want %d", path, got.Code, got.Body.Len(), want.Len())
			}
			if rows > 1 {
				if got := ask(s, path+fmt.Sprintf("&max=%d", rows-1)); got.Code != http.StatusBadRequest {
					t.Errorf("%s: %d rows where one less is allowed: status %d", path, rows, got.Code)
				}
			}
		}
		for _, wrong := range []string{"arrow?table=nothing", "arrow?max=1000001", "arrow?t=9..1"} {
			if got := ask(s, wrong); got.Code != http.StatusBadRequest {
				t.Errorf("%s: status %d", wrong, got.Code)
			}
		}
	})
}

// TestStreamBreaks: an error before the first byte is an answer, after it the connection breaks.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	for _, begins := range []bool{false, true} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.produce(w, r, func() (any, error) {
				return stream{"text/plain", func(w io.Writer) error {
					if begins {
						_, err := w.Write(make([]byte, 1<<16))
						return errors.Join(err, errAnswerless)
					}
					return errAnswerless
				}}, nil
			})
		}))
		t.Cleanup(h.Close)
		resp, err := http.Get(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if broken := err != nil; broken != begins || (resp.StatusCode == http.StatusOK) != begins {
			t.Errorf("begins %t: status %d, %v", begins, resp.StatusCode, err)
		}
	}
}

var errAnswerless = errors.New("cannot go on")
