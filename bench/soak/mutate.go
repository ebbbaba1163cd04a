package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// mutate damages one to four files of a folder and says how.
func mutate(x *rand.Rand, folder string) (done []string) {
	for range 1 + x.IntN(4)*x.IntN(2) {
		var files []string
		_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, path)
			}
			return nil
		})
		if len(files) == 0 {
			return done
		}
		path := files[x.IntN(len(files))]
		what := ""
		switch x.IntN(8) {
		case 0:
			what = "removed"
			_ = os.Remove(path)
		case 1:
			other := files[x.IntN(len(files))]
			what = "swapped with " + filepath.Base(other)
			a, _ := os.ReadFile(path)
			b, _ := os.ReadFile(other)
			_ = os.WriteFile(path, b, 0o666)
			_ = os.WriteFile(other, a, 0o666)
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			b, what = tracetest.Damage(x, b)
			_ = os.WriteFile(path, b, 0o666)
		}
		done = append(done, filepath.Base(path)+": "+what)
	}
	return done
}
