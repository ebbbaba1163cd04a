package export

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// Names of the Parquet format (parquet.thrift, format 2.10) that are used here.
const (
	parquetInt32, parquetInt64, parquetDouble, parquetBytes = 1, 2, 5, 6

	parquetPlain, parquetRLE, parquetDelta, parquetDictionary = 0, 3, 5, 8

	parquetZstd = 6
)

const parquetMagic = "PAR1"

// parquetTable writes a Parquet file: a row group for every batch, each column of it as one compressed page, integers as
// packed differences, texts by a dictionary of those that occur in the group. Beside the batch it holds one column as
// it is written, and 100 bytes a column for each row group.
type parquetTable struct {
	s      *Schema
	out    io.Writer
	at     int64 // bytes written
	rows   int64
	groups []parquetGroup
	zip    *zstd.Encoder
	page   []byte // before compression
	packed []byte
	index  []uint64
	remap  []uint32 // of one dictionary: 1 + place in the row group, 0 for texts that do not occur
}

type parquetGroup struct {
	rows    int64
	columns []parquetChunk
}

// parquetChunk is one column of a row group.
type parquetChunk struct {
	dictionary, data int64 // offsets; dictionary 0: none
	size, packed     int64 // with headers, before and after compression
	nulls            int64
	least, most      uint64
	bounds           bool
}

func newParquet(out io.Writer, s *Schema) (TableWriter, error) {
	if len(s.Columns) == 0 {
		return nil, errors.New("a Parquet file needs a column")
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	t := &parquetTable{s: s, out: out, zip: zip}
	return t, t.put([]byte(parquetMagic))
}

func (t *parquetTable) put(b []byte) error {
	n, err := t.out.Write(b)
	t.at += int64(n)
	return err
}

func (t *parquetTable) Write(b *Batch) error {
	if err := b.fits(t.s); err != nil {
		return err
	}
	if b.rows == 0 {
		return nil
	}
	g := parquetGroup{rows: int64(b.rows), columns: make([]parquetChunk, len(t.s.Columns))}
	for i := range t.s.Columns {
		if err := t.column(&g.columns[i], &t.s.Columns[i], b, i); err != nil {
			return err
		}
	}
	t.groups = append(t.groups, g)
	t.rows += g.rows
	return nil
}

// column writes the pages of a column.
func (t *parquetTable) column(c *parquetChunk, of *Column, b *Batch, i int) error {
	t.index = t.index[:0]
	t.page = t.page[:0]
	if b.null[i] == nil {
		t.index = append(t.index, b.values[i]...)
	} else {
		levels := make([]uint64, b.rows) // 1: there is a value
		for r, none := range b.null[i] {
			if !none {
				t.index = append(t.index, b.values[i][r])
				levels[r] = 1
			}
		}
		c.nulls = int64(b.rows - len(t.index))
		t.page = appendHybrid(append(t.page, 0, 0, 0, 0), levels, 1)
		binary.LittleEndian.PutUint32(t.page, uint32(len(t.page)-4))
	}
	encoding := int32(parquetDelta)
	switch of.Type {
	case Text:
		encoding = parquetDictionary
		if err := t.texts(c, of); err != nil {
			return err
		}
	case Float64:
		encoding = parquetPlain
		for _, v := range t.index {
			t.page = binary.LittleEndian.AppendUint64(t.page, v)
		}
	default:
		c.bound(of.Type, t.index)
		width := 64
		if of.Type == Uint32 {
			width = 32
		}
		t.page = appendDelta(t.page, t.index, width)
	}
	c.data = t.at
	return t.writePage(c, t.page, func(h *thrift) {
		h.i32(1, 0) // data page
	}, func(h *thrift) {
		h.structure(5, func() {
			h.i32(1, int32(b.rows))
			h.i32(2, encoding)
			h.i32(3, parquetRLE) // definition levels
			h.i32(4, parquetRLE) // repetition levels, of which there are none
		})
	})
}

// bound finds the least and the largest value.
func (c *parquetChunk) bound(of Type, values []uint64) {
	flip := uint64(0)
	if of == Int64 {
		flip = 1 << 63 // orders signed numbers as unsigned ones
	}
	for i, v := range values {
		if v ^= flip; i == 0 || v < c.least {
			c.least = v
		}
		if i == 0 || v > c.most {
			c.most = v
		}
	}
	c.least, c.most, c.bounds = c.least^flip, c.most^flip, len(values) > 0
}

// texts writes the dictionary of the texts of t.index, in the order in which they come, and appends the indexes in
// there to the page.
func (t *parquetTable) texts(c *parquetChunk, of *Column) error {
	if len(t.remap) < len(of.Dict) {
		t.remap = make([]uint32, len(of.Dict))
	}
	var used []uint64
	var dictionary []byte
	for i, v := range t.index {
		if t.remap[v] == 0 {
			used = append(used, v)
			t.remap[v] = uint32(len(used))
			dictionary = binary.LittleEndian.AppendUint32(dictionary, uint32(len(of.Dict[v])))
			dictionary = append(dictionary, of.Dict[v]...)
		}
		t.index[i] = uint64(t.remap[v] - 1)
	}
	for _, v := range used {
		t.remap[v] = 0
	}
	width := bits.Len64(uint64(max(len(used), 1) - 1))
	t.page = append(t.page, byte(width))
	t.page = appendHybrid(t.page, t.index, width)
	c.dictionary = t.at
	return t.writePage(c, dictionary, func(h *thrift) {
		h.i32(1, 2) // dictionary page
	}, func(h *thrift) {
		h.structure(7, func() {
			h.i32(1, int32(len(used)))
			h.i32(2, parquetPlain)
		})
	})
}

// errPage says that a page is beyond what its header can say.
var errPage = errors.New("texts of one row group beyond 2 GiB: choose another form, csv or arrow")

// writePage compresses a page and writes it behind its header.
func (t *parquetTable) writePage(c *parquetChunk, page []byte, kind, rest func(*thrift)) error {
	if uint64(len(page)) > math.MaxInt32 {
		return errPage
	}
	t.packed = t.zip.EncodeAll(page, t.packed[:0])
	var h thrift
	h.element(func() {
		kind(&h)
		h.i32(2, int32(len(page)))
		h.i32(3, int32(len(t.packed)))
		rest(&h)
	})
	c.size += int64(len(h.b) + len(page))
	c.packed += int64(len(h.b) + len(t.packed))
	if err := t.put(h.b); err != nil {
		return err
	}
	return t.put(t.packed)
}

func (t *parquetTable) Close() error {
	var f thrift
	f.element(func() { t.footer(&f) })
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(f.b)))
	if uint64(len(f.b)) > math.MaxInt32 {
		return errors.New("too many row groups for the footer of one file: choose a part with --time or --ranks")
	}
	err := t.put(append(f.b, parquetMagic...))
	return errors.Join(err, t.zip.Close())
}
