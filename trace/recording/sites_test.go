package recording

import (
	"strings"
	"testing"
)

// TestOpenNaming opens a recording that gets names: it is the one that is opened afterwards.
func TestOpenNaming(t *testing.T) {
	sites := append(definition(defModule, append(words(0), "- /bin/p"...)), definition(defSite, words(0, 0, 0, 16))...)
	dir := write(t, map[string][]byte{"0.def": append(definitions(0, 1), sites...), "1.def": definitions(1, 1)})
	named, err := OpenNaming(dir, false, func(list []Address) ([]byte, error) {
		return WriteNames(dir, []Named{{list[0], []Frame{{Function: "solve", File: "halo.c", Line: 42}}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Source{named, again} {
		d := s.Definitions()
		if last := d.Regions[len(d.Regions)-1]; d.RegionLabel(last.Ref) != "MPI_Send (halo.c:42)" || s.identity != named.identity {
			t.Errorf("%s, identity %x and %x", d.RegionLabel(last.Ref), s.identity, named.identity)
		}
	}
}

// TestHostileSites defines call sites that are none: they are refused, and nothing is taken from lengths that are not there.
func TestHostileSites(t *testing.T) {
	for _, x := range []struct {
		name string
		kind byte
		body []byte
		ok   bool
	}{
		{"module", defModule, append(words(0), "- /bin/p"...), true},
		{"module out of order", defModule, append(words(3), "- /bin/p"...), false},
		{"module without path", defModule, words(0), false},
		{"site of an unknown module", defSite, words(0, 1, 77, 16), true},
		{"site without frames", defSite, words(0, 1), false},
		{"site cut", defSite, words(0)[:5], false},
		{"site out of order", defSite, words(1, 1, 0, 16), false},
		{"too many frames", defSite, words(append([]uint64{0, 1}, make([]uint64, 2*(maxFrames+1))...)...), false},
	} {
		p := &process{}
		if got := p.define(x.kind, x.body); got != x.ok {
			t.Errorf("%s: %v", x.name, got)
		}
	}
	if len(parseNames([]byte("{\"module\":\n[]\n{\"frames\":3}\n\xff"))) > 1 {
		t.Error("damaged names were taken")
	}
}

// TestShorten: what is between frames is in no name, and one that is too long keeps its function.
func TestShorten(t *testing.T) {
	long := strings.Repeat("int, ", 20)
	for name, want := range map[string]string{
		"run<main(int, char**)::<lambda(int)> >": "run<main(int, char**)::<lambda(int)>>", "a<b<c> >::d": "a<b<c>>::d", "solve": "solve",
		"grid::Halo<" + long + "int>::exchange": "grid::Halo<…>::exchange", strings.Repeat("deep::", 20) + "f": "..." + strings.Repeat("deep::", 20)[41:] + "f",
	} {
		if got := shorten(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
