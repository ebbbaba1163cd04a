package mpi

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

func testFile(t *rankTest, c Comm) {
	name := t.path("shared")
	hints := map[string]string{"romio_cb_write": "disable", "access_style": "write_once"}
	f, err := c.OpenFile(name, ReadWrite|Create, hints)
	t.ok("open", err)
	const n = 1000
	own := pattern(n, c.Rank(), 0)
	at := int64(c.Rank() * n)
	t.ok("write", f.WriteAt(own[:n/2], at))
	t.ok("write", f.WriteAt(own[n/2:], at+n/2))
	t.ok("write of nothing", f.WriteAt(nil, at))
	t.ok("sync", f.Sync())
	size, err := f.Size()
	t.ok("size", err)
	if size != int64(n*c.Size()) {
		t.fatalf("size %d", size)
	}
	left := (c.Rank() + c.Size() - 1) % c.Size()
	b := make([]byte, n)
	t.ok("read", f.ReadAt(b, int64(left*n)))
	t.equal("neighbour's block", b, pattern(n, left, 0))
	t.is("read past the end", f.ReadAt(b, size-1), ErrShortRead)
	t.is("read past the end", f.ReadAt(b, size-1), io.ErrUnexpectedEOF)
	t.is("negative offset", f.ReadAt(b, -1), ErrArg)
	t.is("negative offset", f.WriteAt(b, -1), ErrArg)
	t.ok("barrier", c.Barrier())
	t.ok("close", f.Close())
	t.equal("file", readFile(t, name)[:n], pattern(n, 0, 0))
	t.ok("barrier", c.Barrier())
	f, err = c.OpenFile(name, WriteOnly|Create|Truncate, nil)
	t.ok("open", err)
	size, err = f.Size()
	t.ok("size", err)
	if size != 0 {
		t.fatalf("size %d after truncation", size)
	}
	t.is("read of a write-only file", f.ReadAt(b, 0), ErrMode)
	t.ok("close", f.Close())
}

// Ranks write different numbers of chunks together, some nothing.
func testFileCollective(t *rankTest, c Comm) {
	name := t.path("together")
	f, err := c.OpenFile(name, ReadWrite|Create, nil)
	t.ok("open", err)
	length := func(r int) int {
		if c.Size() > 16 {
			return r % 3 * 500
		}
		return r % 3 * (testChunk + 10)
	}
	at, err := c.Exscan(int64(length(c.Rank())))
	t.ok("exscan", err)
	own := pattern(length(c.Rank()), c.Rank(), 1)
	t.ok("write all", f.WriteAtAll(own, at))
	b := make([]byte, len(own))
	t.ok("read", f.ReadAt(b, at))
	t.equal("own block", b, own)
	off := at
	if c.Rank() == c.Size()-1 {
		off = -1
	}
	t.is("one rank's bad offset", f.WriteAtAll(own, off), ErrArg)
	t.ok("close", f.Close())
	if c.Rank() == 0 {
		var want []byte
		for r := range c.Size() {
			want = append(want, pattern(length(r), r, 1)...)
		}
		t.equal("file", readFile(t, name), want)
	}
}

func testFileErrors(t *rankTest, c Comm) {
	name := t.path("exists")
	if c.Rank() == 0 {
		t.ok("write", os.WriteFile(name, []byte("kept"), 0o600))
	}
	t.ok("barrier", c.Barrier())
	for _, k := range []struct {
		what, name string
		mode       Mode
		class      Class
		std        error
	}{
		{"missing", t.path("missing"), ReadOnly, ErrNotExist, fs.ErrNotExist},
		{"in a missing directory", t.path("no/file"), ReadWrite | Create, ErrNotExist, fs.ErrNotExist},
		{"directory", t.dir, ReadWrite, ErrBadFile, ErrBadFile},
		{"directory for reading", t.dir, ReadOnly, ErrBadFile, ErrBadFile},
		{"no mode", name, 0, ErrMode, ErrMode},
		{"two modes", name, ReadOnly | ReadWrite, ErrMode, ErrMode},
		{"created for reading", name, ReadOnly | Create, ErrMode, ErrMode},
	} {
		f, err := c.OpenFile(k.name, k.mode, nil)
		if f != nil {
			t.fatalf("%s: opened", k.what)
		}
		t.is(k.what, err, k.class)
		t.is(k.what, err, k.std)
	}
	f, err := c.OpenFile(name, ReadOnly, nil)
	t.ok("open", err)
	t.is("write to a file opened for reading", f.WriteAt([]byte("x"), 0), ErrReadOnly)
	t.is("write together", f.WriteAtAll([]byte("x"), 0), ErrReadOnly)
	t.ok("sync", f.Sync())
	t.ok("close", f.Close())
	t.equal("file", readFile(t, name), []byte("kept"))
	testNoSpace(t, c)
}

// testNoSpace writes to a full device, where there is one.
func testNoSpace(t *rankTest, c Comm) {
	const full = "/dev/full"
	if _, ok := c.(*local); !ok { // a device is nothing that MPI-IO must be able to open; see TestDiskFull
		return
	}
	if _, err := os.Stat(full); err != nil {
		return
	}
	f, err := c.OpenFile(full, WriteOnly, nil)
	if errors.Is(err, fs.ErrPermission) {
		return
	}
	t.ok("open", err)
	t.is("write", f.WriteAt([]byte("x"), 0), ErrNoSpace)
	var own []byte
	if c.Rank() == c.Size()-1 {
		own = []byte("x")
	}
	t.is("write together", f.WriteAtAll(own, 0), ErrNoSpace)
	t.ok("close", f.Close())
}
