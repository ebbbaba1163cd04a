package main

import (
	"bytes"
	"math/rand/v2"
	"os"
)

// stepDamage changes bytes of the result and lets every reader have it: an answer, or an error with its exit code. Where check finds
// nothing wrong, reports are those of the sound file.
func stepDamage(r *round, x *rand.Rand) {
	path := r.path("damaged.xtf")
	for range 1 + x.IntN(3) {
		b, what := damage(x, r.whole)
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
			if clean.code == 0 && args[0] == "query" {
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
