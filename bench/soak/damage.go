package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// forge changes bytes without changing a checksum: what it adds are multiples of the polynomial of CRC-32C, so the sum of every
// span of bytes around them stays, seeds and sums of sums too.
func forge(x *rand.Rand, b []byte) ([]byte, string) {
	const polynomial = 1 | uint64(0x82f63b78)<<1 // of 33 bits, the highest power first
	b = slices.Clone(b)
	at := x.IntN(max(1, len(b)-8))
	if x.IntN(3) == 0 {
		at = max(0, len(b)-1-x.IntN(min(len(b), 20_000))) // the directory, definitions and tables of the call graph
	}
	at = min(at, max(0, len(b)-8))
	for range 1 + x.IntN(3) {
		p := b[at:min(at+8, len(b))]
		if len(p) < 8 {
			break
		}
		v := binary.LittleEndian.Uint64(p) ^ polynomial<<x.IntN(31)
		binary.LittleEndian.PutUint64(p, v)
	}
	return b, fmt.Sprintf("forged at %d", at)
}

// stepDamage changes bytes of the result, half of the time so that no checksum tells, and lets every reader have it: an answer, or an
// error with its exit code. Where check finds nothing wrong with a file that was not forged, answers are those of the sound one.
func stepDamage(r *round, x *rand.Rand) {
	path := r.path("damaged.xtf")
	for range 1 + x.IntN(3) {
		change, forged := damage, x.IntN(2) == 0
		if forged {
			change = forge
		}
		b, what := change(x, r.whole)
		if bytes.Equal(b, r.whole) {
			continue
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			r.fail("%v", err)
			return
		}
		r.log.WriteString("damaged: " + what + "\n")
		clean := r.coppice("check", path)
		r.expect(clean, 0, 1, 3)
		for _, args := range [][]string{
			{"report"},
			{"report", "--format", "html"},
			{"report", "intervals", "waits", "pop", "profile", "paths", "comm", "ccg", "diagnostics", "--format", "json"},
			{"query", "rows"},
			{"query", "walk"},
			{"query", "window"},
			{"query", "timeline"},
			{"query", "bins", "--whole"},
			{"query", "members", "-n", "0"},
			{"info"},
			{"export", "--to", "otf2", "-q", "-f", "-o", r.path("d.otf2")},
			{"export", "--to", "chrome", "-q", "-f", "-o", r.path("d.json")},
			{"export", "--to", "parquet", "-q", "-f", "-o", r.path("d.tables")},
			{"export", "--to", "viewer", "-q", "-f", "-o", r.path("d.html")},
			{"diff", r.run},
			{"capacity", "extract", "-o", r.path("d.toml"), "-f"},
			{"predict", "--self-check", "--host-platform", r.platformFile(x), "-q"},
		} {
			if x.IntN(3) > 0 {
				continue
			}
			with := func(file string) []string {
				at := 1
				if args[0] == "capacity" {
					at = 2
				}
				return append(append(append([]string{}, args[:at]...), file), args[at:]...)
			}
			o := r.coppice(with(path)...)
			r.expect(o, 0, 1, 2, 3, 4, 5)
			if clean.code == 0 && !forged && args[0] == "query" {
				if sound := r.coppice(with(r.run)...); sound.out != o.out {
					r.fail("%s: check found nothing in the damaged file (%s), but it answers otherwise", o, what)
				}
			}
		}
	}
	for _, f := range []string{"d.otf2", "d.json", "d.tables", "d.html", "d.toml"} {
		_ = os.RemoveAll(r.path(f))
	}
}
