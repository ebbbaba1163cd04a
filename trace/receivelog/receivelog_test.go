package receivelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"
)

// blocks cuts a stream into blocks: written from docs/format/log.md, not from the reader.
func blocks(s []byte) []byte {
	var out []byte
	for i := uint64(0); len(s) > 0; i++ {
		part := s[:min(len(s), 1048544)]
		s = s[len(part):]
		b := append([]byte("CPRLOG1\x00"), make([]byte, 24)...)
		binary.LittleEndian.PutUint32(b[8:], uint32(len(part)))
		binary.LittleEndian.PutUint64(b[16:], i)
		b = append(b, part...)
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:], crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, b...)
	}
	return out
}

func text(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

func record(kind byte, parts ...[]byte) []byte {
	b := bytes.Join(parts, nil)
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(b))), b...)
}

func header(more ...string) []byte {
	pairs := append([]string{
		"library", "L", "mpi", "openmpi", "rank", "1", "size", "4", "host", "h", "pid", "7", "begin", "99", "program", "/p", "cwd", "/",
		"arg", "p", "arg", "-x", "env", "OMP_NUM_THREADS=1", "wtime", "1", "function", "5 C Recv", "function", "4096 C Init",
		"function", "6 X Win_create", "function", "7 C Waitall", "function", "4101 C Wtime", "later", "?",
	}, more...)
	var b []byte
	for _, p := range pairs {
		b = append(b, text(p)...)
	}
	return record(1, b)
}

// sample is a log with everything: Init, a Recv with 100 bytes, a Waitall that gives the same bytes again and is repeated,
// a clock reading, all other outputs.
func sample() []byte {
	payload := bytes.Repeat([]byte{1, 2, 3, 4}, 25)
	s := header()
	s = append(s, record(2, []byte{0x80, 32, 0, 0})...)
	recv := []byte{5, 0, 15, 7, 3, 0xc8, 1, 1, 7, 0, 100, 0} // peer -4, tag -2, 200 bytes, communicator 1
	where := len(s) + 2 + len(recv)
	s = append(s, record(2, recv, payload, []byte{6, 6, 0, 2, 4, 0, 100, 0})...)
	again := append([]byte{7, 0, 64, 2, 9, 1, 0, 3, 6, 2, 0, 2, 4, 0, 100, 0, 7, 0, 100}, binary.AppendUvarint(nil, uint64(where))...)
	s = append(s, record(2, again)...)
	s = append(s, record(3, []byte{9})...)
	s = append(s, record(2, []byte{0x85, 32, 0, 0, 10, 0}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5)))...)
	s = append(s, record(2, []byte{6, 1, 0}, []byte{1, 0, 3, 2, 1, 2, 1, 4, 3, 2, 3, 4, 0, 0, 4, 1, 2, 5, 1, 9, 8, 0, 2, 'h', 'i'})...)
	return append(s, record(4, []byte{1, 14, 0, 0, 0})...)
}

func readAll(b []byte) (calls []Call, end *End, err error) {
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	for err == nil {
		var c *Call
		if c, err = r.Next(); err == nil {
			k := *c
			k.Outputs = append([]Output(nil), c.Outputs...)
			calls = append(calls, k)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
		e, ok := r.End()
		if !ok {
			return calls, nil, errors.New("no end")
		}
		end = &e
	}
	return calls, end, err
}

func TestRead(t *testing.T) {
	b := blocks(sample())
	calls, end, err := readAll(b)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	n := uint64(0)
	for _, c := range calls {
		if c.Number != n {
			t.Errorf("call %d has the number %d", n, c.Number)
		}
		n += c.Times
		names = append(names, c.Function.Name)
	}
	if got := strings.Join(names, " "); got != "Init Recv Waitall Waitall Wtime Win_create" || n != 14 {
		t.Errorf("%s, %d calls", got, n)
	}
	if c := calls[1]; c.Inputs != [7]int64{-4, -2, 200, 1} || c.Checked != 15 || c.Outputs[0].Payload.Bytes != 100 {
		t.Errorf("Recv: %+v", c)
	}
	if o := calls[3].Outputs; calls[3].Times != 9 || o[0].Values[1] != 3 || !o[2].Payload.Again || o[2].Payload.Where != calls[1].Outputs[0].Payload.Where {
		t.Errorf("Waitall: %+v", calls[3])
	}
	if calls[4].Outputs[0].Real != 1.5 || calls[5].Code != -1 || calls[5].Outputs[5].Text != "hi" {
		t.Errorf("%+v\n%+v", calls[4], calls[5])
	}
	if end.Reason.String() != "MPI_Finalize" || end.Calls != 14 {
		t.Errorf("end %+v", end)
	}
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summarise(r)
	if err != nil || s.Calls != 14 || s.Payload != 1100 || s.Stored != 100 || len(s.Refused) != 1 || s.Functions[0].Name != "Waitall" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestLong has records and a payload that go over the ends of blocks.
func TestLong(t *testing.T) {
	s := header()
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(i * 7 >> 3)
	}
	n := binary.AppendUvarint(nil, uint64(len(big)))
	for range 2 {
		s = append(s, record(2, []byte{5, 0, 0, 7, 0}, n, []byte{0}, big)...)
	}
	s = append(s, record(4, []byte{2, 2, 0, 0, 0})...)
	b := blocks(s)
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p := c.Outputs[0].Payload; !bytes.Equal(s[p.Where:][:p.Bytes], big) {
			t.Error("payload differs")
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	for _, n := range []int{1 << 20, 2 << 20, 6 << 20} { // a process that was killed leaves whole blocks
		if _, _, err := readAll(b[:n]); !errors.Is(err, ErrCut) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	swapped := append(append(append([]byte{}, b[:1<<20]...), b[2<<20:3<<20]...), b[1<<20:2<<20]...)
	if _, _, err := readAll(append(swapped, b[3<<20:]...)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("blocks in another order: %v", err)
	}
}

// TestDamage changes every byte and cuts at every length: no damage goes unseen.
func TestDamage(t *testing.T) {
	b := blocks(sample())
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x41
		if _, _, err := readAll(c); err == nil {
			t.Errorf("byte %d was changed and nobody saw it", i)
		}
	}
	for n := range b {
		if _, _, err := readAll(b[:n]); !errors.Is(err, ErrCut) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotLog) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, _, err := readAll(append(bytes.Clone(b), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestStreams are blocks that are whole around records that are not.
func TestStreams(t *testing.T) {
	call := func(b ...byte) []byte { return record(2, b) }
	end := record(4, []byte{1, 1, 0, 0, 0})
	for _, c := range []struct {
		name   string
		stream []byte
		want   error
	}{
		{"no end", header(), ErrCut},
		{"part of a record", append(header(), 2, 50), ErrCut},
		{"no header", call(5, 0, 0), ErrCorrupt},
		{"rank beyond size", record(1, text("rank"), text("3"), text("size"), text("3")), ErrCorrupt},
		{"a function twice", header("function", "5 C Send"), ErrCorrupt},
		{"a class that is none", header("function", "50 Q Send"), ErrCorrupt},
		{"odd header", record(1, text("rank")), ErrCorrupt},
		{"long text", record(1, []byte{200, 1, 'a'}), ErrCorrupt},
		{"unknown function", append(header(), call(9, 0, 0)...), ErrCorrupt},
		{"unknown checks", append(header(), call(5, 0, 128)...), ErrCorrupt},
		{"unknown output", append(header(), call(5, 0, 0, 11, 0)...), ErrCorrupt},
		{"output cut", append(header(), call(5, 0, 0, 3, 0, 1)...), ErrCorrupt},
		{"many integers", append(header(), call(5, 0, 0, 2, 0, 255, 255, 255, 127)...), ErrCorrupt},
		{"payload beyond the record", append(header(), call(5, 0, 0, 7, 0, 100, 0)...), ErrCorrupt},
		{"payload of later", append(header(), call(5, 0, 0, 7, 0, 100, 255, 127)...), ErrCorrupt},
		{"a number of 70 bits", append(header(), call(255, 255, 255, 255, 255, 255, 255, 255, 255, 127)...), ErrCorrupt},
		{"repeat first", append(header(), record(3, []byte{1})...), ErrCorrupt},
		{"repeat nothing", append(append(header(), call(5, 0, 0)...), record(3, []byte{0})...), ErrCorrupt},
		{"bytes after a repeat", append(append(header(), call(5, 0, 0)...), record(3, []byte{1, 1})...), ErrCorrupt},
		{"another number of calls", append(header(), end...), ErrCorrupt},
		{"more after the end", bytes.Join([][]byte{header(), call(5, 0, 0), end, end}, nil), ErrCorrupt},
		{"unknown record", append(header(), record(9)...), ErrCorrupt},
		{"good", bytes.Join([][]byte{header(), call(5, 0, 0), end}, nil), nil},
	} {
		if _, _, err := readAll(blocks(c.stream)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	b := blocks(header())
	b[6] = '2'
	if _, _, err := readAll(b); !errors.Is(err, ErrVersion) {
		t.Errorf("version 2: %v", err)
	}
}

// TestMuch repeats a call until its bytes do not fit 64 bits: no process received so much.
func TestMuch(t *testing.T) {
	call := record(2, []byte{5, 0, 0, 7, 0, 3, 0, 'a', 'b', 'c'})
	for times, want := range map[uint64]error{1 << 61: nil, 1 << 63: ErrCorrupt} {
		repeat, end := record(3, binary.AppendUvarint(nil, times)), binary.AppendUvarint([]byte{1}, 1+times)
		b := blocks(bytes.Join([][]byte{header(), call, repeat, record(4, end, []byte{0, 0, 0})}, nil))
		r, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Summarise(r)
		if !errors.Is(err, want) || want == nil && s.Payload != 3*(times+1) {
			t.Errorf("%d times: %+v, %v", times, s, err)
		}
	}
}

// FuzzRead reads any bytes as a log, and as the stream of one.
func FuzzRead(f *testing.F) {
	f.Add(blocks(sample()), false)
	f.Add(sample(), true)
	f.Add(append(header(), 2, 8, 5, 0, 0, 7, 0, 100, 255, 127), true)
	f.Fuzz(func(t *testing.T, b []byte, stream bool) {
		if stream {
			b = blocks(b)
		}
		calls, end, err := readAll(b)
		if err != nil {
			return
		}
		var n uint64
		for _, c := range calls {
			n += c.Times
		}
		if n != end.Calls {
			t.Errorf("%d calls, the end says %d", n, end.Calls)
		}
	})
}
