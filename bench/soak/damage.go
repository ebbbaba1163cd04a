package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"

	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// stepDamage changes bytes of the result, half of the time so that no checksum tells, and lets every reader have it: an answer, or an
// error with its exit code. Answers about a file that was not forged are those of the sound one, or the status says otherwise.
func stepDamage(r *round, x *rand.Rand) {
	path := r.path("damaged.xtf")
	for range 1 + x.IntN(3) {
		change, forged := tracetest.Damage, x.IntN(2) == 0
		if forged {
			change = tracetest.Forge
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
		r.taken["mutated results"]++
		r.expect(r.coppice("check", path), 0, 1, 3)
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
			{"levers", "--targets", "2", "-q"},
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
			if o.code != 0 || forged {
				continue
			}
			err := os.WriteFile(path, r.whole, 0o666)
			if sound := r.coppice(with(path)...); err == nil && sound.out != o.out {
				r.fail("%s: done with the damaged file (%s), but it answers otherwise", o, what)
			}
			if err = errors.Join(err, os.WriteFile(path, b, 0o666)); err != nil {
				r.fail("%v", err)
				return
			}
		}
	}
	for _, f := range []string{"d.otf2", "d.json", "d.tables", "d.html", "d.toml"} {
		_ = os.RemoveAll(r.path(f))
	}
}
