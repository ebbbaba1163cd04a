package recording

import (
	"encoding/binary"
	"testing"
)

// TestHostileSites defines call sites that are none: they are refused, and nothing is taken from lengths that are not there.
func TestHostileSites(t *testing.T) {
	words := func(list ...uint64) (b []byte) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
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
