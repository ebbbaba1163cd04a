package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
			b, what = damage(x, b)
			_ = os.WriteFile(path, b, 0o666)
		}
		done = append(done, filepath.Base(path)+": "+what)
	}
	return done
}

// damage changes some bytes.
func damage(x *rand.Rand, b []byte) ([]byte, string) {
	b = slices.Clone(b)
	if len(b) == 0 {
		return append(b, byte(x.Uint32())), "a byte more"
	}
	at := x.IntN(len(b))
	if x.IntN(3) == 0 {
		at = x.IntN(min(len(b), 64)) // heads hold what sizes the rest
	}
	n := min(1+int(logUniform(x, 64)), len(b)-at)
	part := b[at : at+n]
	switch x.IntN(9) {
	case 0:
		b[at] ^= 1 << x.IntN(8)
		return b, fmt.Sprintf("bit of byte %d turned", at)
	case 1:
		for i := range part {
			part[i] = byte(x.Uint32())
		}
		return b, fmt.Sprintf("%d random bytes at %d", n, at)
	case 2:
		clear(part)
		return b, fmt.Sprintf("%d zeros at %d", n, at)
	case 3:
		for i := range part {
			part[i] = 0xff
		}
		return b, fmt.Sprintf("%d bytes 0xff at %d", n, at)
	case 4:
		return b[:at], fmt.Sprintf("cut at %d of %d", at, len(b))
	case 5:
		return slices.Delete(b, at, at+n), fmt.Sprintf("%d bytes left out at %d", n, at)
	case 6:
		return slices.Insert(b, at, slices.Clone(part)...), fmt.Sprintf("%d bytes twice at %d", n, at)
	case 7: // the other byte order, where it is told: the heads of chunks
		for i := range b {
			if b[i] == 'B' && (i == 0 || x.IntN(4) == 0) {
				b[i] = '#'
			} else if b[i] == '#' && (i == 0 || x.IntN(4) == 0) {
				b[i] = 'B'
			}
		}
		return b, "byte order"
	default:
		for range 1 + x.IntN(20) {
			b[x.IntN(len(b))] = byte(x.Uint32())
		}
		return b, "random bytes all over"
	}
}
