package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// peers prints what others need for the same events.
func peers(w io.Writer, c config) error {
	list, err := found(w, c)
	if err != nil {
		return err
	}
	z := zstd19()
	t := newTable("program", "OTF2 event files", "24-byte records, "+z.name)
	list = append(programs(c.events), list...)
	sizes := make([]struct{ archive, raw float64 }, len(list))
	err = together(list, func(i int) (err error) {
		sizes[i].archive, sizes[i].raw, err = list[i].others(z)
		return err
	})
	if err != nil {
		return err
	}
	for i, p := range list {
		t.row(p.name, sizes[i].archive, sizes[i].raw)
	}
	fmt.Fprintf(w, "## Other encodings, lossless, bytes per event\n\n")
	t.print(w)
	return nil
}

// others returns the bytes per event of p as an archive, and as raw records
// compressed by z.
func (p program) others(z compressor) (archive, raw float64, err error) {
	src, err := p.open()
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	bytes := uint64(0)
	if p.dir != "" {
		bytes, err = archiveBytes(p.dir)
	} else {
		bytes, err = otf2Bytes(src)
	}
	if err != nil {
		return 0, 0, err
	}
	events, err := countEvents(src)
	if err != nil {
		return 0, 0, err
	}
	raw, err = rawZstd(src, z)
	return float64(bytes) / float64(max(events, 1)), raw, err
}

// countEvents reads all locations.
func countEvents(src trace.Source) (n uint64, err error) {
	for p := range trace.P(src.Definitions().NumLocations()) {
		err := each(src, p, func(b *trace.Batch) error {
			n += uint64(len(b.Events))
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// archiveBytes returns the size of the event files below dir.
func archiveBytes(dir string) (uint64, error) {
	n := uint64(0)
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".evt" {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += uint64(info.Size())
		}
		return err
	})
	return n, err
}

// otf2Bytes writes a source as an archive and returns the size of its event files.
func otf2Bytes(src trace.Source) (uint64, error) {
	dir, err := os.MkdirTemp("", "bench-ccg")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if _, err := otf2.Copy(filepath.Join(dir, "archive"), "traces", src, otf2.Options{}); err != nil {
		return 0, err
	}
	return archiveBytes(dir)
}

// record is an event in 24 bytes: time; kind and region or first field; the
// other fields folded into one word. Where there are many it is less than the
// event, which favours the compressor.
func record(b *trace.Batch, e *trace.Event) [24]byte {
	var r [24]byte
	ref, arg := uint64(e.Ref), uint64(0)
	for i, w := range b.Words(e) {
		if i == 0 {
			ref |= w
			continue
		}
		arg = arg<<16 ^ w
	}
	binary.LittleEndian.PutUint64(r[0:], uint64(e.Time))
	binary.LittleEndian.PutUint64(r[8:], ref<<8|uint64(e.Kind))
	binary.LittleEndian.PutUint64(r[16:], arg)
	return r
}

// most records are compressed of a program: level 19 takes some seconds for so many.
const most = 100_000

// rawZstd returns bytes per event of all locations' records, one after the
// other, in one stream of compressor z; of a long trace those of its first
// locations.
func rawZstd(src trace.Source, z compressor) (float64, error) {
	events := uint64(0)
	bytes, err := z.size(func(w io.Writer) error {
		var out []byte
		for p := range trace.P(src.Definitions().NumLocations()) {
			if events >= most {
				break
			}
			err := each(src, p, func(b *trace.Batch) error {
				out = out[:0]
				for i := range b.Events {
					r := record(b, &b.Events[i])
					out = append(out, r[:]...)
				}
				events += uint64(len(b.Events))
				_, err := w.Write(out)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return float64(bytes) / float64(max(events, 1)), err
}

// compressor is a general compressor, by program or in this process.
type compressor struct {
	name string
	args []string // nil: the Go library
}

// zstd19 is the zstd program at level 19, or the Go library's best where the
// program is missing.
func zstd19() compressor {
	out, err := exec.Command("zstd", "--version").Output()
	if err != nil {
		return compressor{name: "zstd of klauspost/compress, best"}
	}
	version := strings.Fields(strings.Trim(string(bytes.TrimSpace(out)), "* "))
	for _, f := range version {
		if strings.HasPrefix(f, "v") {
			return compressor{"zstd " + strings.Trim(f, "v,") + " -19", []string{"zstd", "-19", "-T1", "-q", "-c"}}
		}
	}
	return compressor{"zstd -19", []string{"zstd", "-19", "-T1", "-q", "-c"}}
}

// xz6 is the xz program at level 6; ok is false where it is missing.
func xz6() (c compressor, ok bool) {
	_, err := exec.LookPath("xz")
	return compressor{"xz -6", []string{"xz", "-6", "-T1", "-q", "-c"}}, err == nil
}

// size returns how long what fill writes is when compressed.
func (z compressor) size(fill func(io.Writer) error) (uint64, error) {
	var n counter
	if z.args == nil {
		e, err := zstd.NewWriter(&n, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return 0, err
		}
		if err := fill(e); err != nil {
			return 0, err
		}
		err = e.Close()
		return uint64(n), err
	}
	cmd := exec.Command(z.args[0], z.args[1:]...)
	cmd.Stdout = &n
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = fill(in)
	in.Close()
	if e := cmd.Wait(); err == nil && e != nil {
		err = fmt.Errorf("%s: %w", z.name, e)
	}
	return uint64(n), err
}

// counter counts what is written to it.
type counter uint64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
