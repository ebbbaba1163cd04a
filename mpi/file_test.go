package mpi

import (
	"errors"
	"io/fs"
	"os"
)

// readAt fills b from a file, by the operating system.
func readAt(name string, b []byte, off int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = f.ReadAt(b, off)
	return errors.Join(err, f.Close())
}

func testFile(t *rankTest, c Comm) {
	name := t.path("shared")
	hints := map[string]string{"romio_cb_write": "disable", "access_style": "write_once"}
	f, err := c.CreateFile(name, hints)
	t.ok("create", err)
	const n = 1000
	own := pattern(n, c.Rank(), 0)
	at := int64(c.Rank() * n)
	t.ok("write", f.WriteAt(own[:n/2], at))
	t.ok("write", f.WriteAt(own[n/2:], at+n/2))
	t.ok("write of nothing", f.WriteAt(nil, at))
	t.ok("sync", f.Sync())
	left := (c.Rank() + c.Size() - 1) % c.Size()
	b := make([]byte, n)
	t.ok("read", readAt(name, b, int64(left*n)))
	t.equal("neighbour's block", b, pattern(n, left, 0))
	t.is("negative offset", f.WriteAt(b, -1), ErrArg)
	t.ok("barrier", c.Barrier())
	t.ok("close", f.Close())
	all := readFile(t, name)
	t.equal("file", all[:n], pattern(n, 0, 0))
	if len(all) != n*c.Size() {
		t.fatalf("size %d", len(all))
	}
	t.ok("barrier", c.Barrier())
	f, err = c.CreateFile(name, nil)
	t.ok("create again", err)
	if all = readFile(t, name); len(all) != 0 {
		t.fatalf("size %d after another beginning", len(all))
	}
	t.ok("close", f.Close())
}

// Ranks write different numbers of chunks together, some nothing.
func testFileCollective(t *rankTest, c Comm) {
	name := t.path("together")
	f, err := c.CreateFile(name, nil)
	t.ok("create", err)
	length := func(r int) int {
		if c.Size() > 16 {
			return r % 3 * 500
		}
		return r % 3 * (testChunk + 10)
	}
	at := int64(0)
	for r := range c.Rank() {
		at += int64(length(r))
	}
	own := pattern(length(c.Rank()), c.Rank(), 1)
	t.ok("write all", f.WriteAtAll(own, at))
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
	for _, k := range []struct {
		what, name string
		class      Class
		std        error
	}{
		{"no name", "", ErrNotExist, fs.ErrNotExist},
		{"in a missing directory", t.path("no/file"), ErrNotExist, fs.ErrNotExist},
		{"directory", t.dir, ErrBadFile, ErrBadFile},
	} {
		f, err := c.CreateFile(k.name, nil)
		if f != nil {
			t.fatalf("%s: created", k.what)
		}
		t.is(k.what, err, k.class)
		t.is(k.what, err, k.std)
	}
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
	f, err := c.CreateFile(full, nil)
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
