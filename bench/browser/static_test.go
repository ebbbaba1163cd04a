package browser_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/view"
)

// TestStatic opens the one-file viewer from disk: it draws without a single request, and says what is not in it.
func TestStatic(t *testing.T) {
	s := started(t)
	server, err := view.New(opened(t, analyzed(t, exampleSpec)), view.Options{Tool: "test"})
	must(t, err)
	var b bytes.Buffer
	st, err := server.WriteStatic(t.Context(), &b, view.StaticOptions{Levels: 2, MaxBytes: 8 << 20})
	must(t, err)
	if st.Levels != 2 || !st.Full || st.Tiles != 3 || st.Bytes != int64(b.Len()) {
		t.Errorf("%+v, %d bytes", st, b.Len())
	}
	file := filepath.Join(t.TempDir(), "run.html")
	must(t, os.WriteFile(file, b.Bytes(), 0o644))
	before := s.Requests()
	for _, x := range []struct{ fragment, want string }{
		{"tab=statistics", "functions of the whole run"},
		{"tab=waits", "late sender"},
		{"tab=intervals", "timestep"},
		{"tab=matrix", "largest pairs"},
		{"tab=ranks", "of it waiting"},
		{"tab=classes", "Dendrogram"},
		{"t=1000000..1010000", "is not included in this file"},
		{"at=3:1000000&tab=selection", "run: coppice serve"},
	} {
		open(t, s, "file://"+file, x.fragment)
		if text := eval[string](t, s, "document.body.innerText"); !strings.Contains(text, x.want) {
			t.Errorf("%s: the page does not say %q:\n%s", x.fragment, x.want, text)
		}
		if x.fragment == "tab=waits" {
			shot, err := s.Shot()
			must(t, err)
			keep(t, "static", shot)
			if n := eval[int](t, s, "coppice.tiles.cache.map.size"); n == 0 {
				t.Error("no tile is shown")
			}
			w := press(t, s, "w")
			if back := press(t, s, "\b"); !strings.Contains(w.Hash, "t=") || strings.Contains(back.Hash, "t=") {
				t.Errorf("zoomed in the address ends in %q, back in %q", w.Hash, back.Hash)
			}
		}
		clean(t, s)
	}
	if n := s.Requests() - before; n != 8 {
		t.Errorf("opening the file 8 times made %d requests", n)
	}
	if _, err := server.WriteStatic(t.Context(), &b, view.StaticOptions{Levels: 2, MaxBytes: 1000}); !errors.Is(err, view.ErrStaticSize) {
		t.Errorf("1000 bytes: %v", err)
	}
}
