package xtf

import (
	"fmt"
	"hash/crc32"
)

// pageRef is a finished data page: where its payload is in the sink, and what the index needs.
//
//xtf:form summaryPage
type pageRef struct {
	off    int64
	stored uint32
	crc    uint32 // CRC-32C of the payload
	t0     uint64
	maxEnd uint64
}

// ArraySummary is the page table of a finished array. With the storage of its pages it is an immutable segment, which can be serialised,
// kept anywhere, and put into a region at any file offset. It takes 32 bytes for each page, and 8 more for each sum of its type.
type ArraySummary struct {
	typ      TypeID
	proc     Proc
	rowBytes int
	pageRows int
	codec    Codec
	rows     uint64
	first    uint64
	last     uint64
	maxEnd   uint64
	pages    []pageRef
	k        int      // number of sums for each page
	ps       []uint64 // k for each page: PS[page][sum]
	totals   []uint64 // k

	badRow  uint64 // while building, see orderError
	ordered bool
}

// Len returns the number of rows.
func (s *ArraySummary) Len() uint64 { return s.rows }

const (
	summaryMagic = "XTFs"
	summaryHead  = 72
)

// AppendBinary appends the table: a head, an entry for each page, the sums, and a CRC-32C of all of it.
func (s *ArraySummary) AppendBinary(dst []byte) ([]byte, error) {
	at := len(dst)
	dst = append(dst, summaryMagic...)
	dst = le.AppendUint32(dst, uint32(s.typ))
	dst = le.AppendUint32(dst, uint32(s.proc))
	dst = append(dst, byte(s.codec), byte(s.k), 0, 0)
	dst = le.AppendUint32(dst, uint32(s.rowBytes))
	dst = le.AppendUint32(dst, uint32(s.pageRows))
	for _, v := range []uint64{s.rows, s.first, s.last, s.maxEnd, uint64(len(s.pages)), 0} {
		dst = le.AppendUint64(dst, v)
	}
	for i := range s.pages {
		dst = s.pages[i].Append(dst)
	}
	for _, v := range s.ps {
		dst = le.AppendUint64(dst, v)
	}
	for _, v := range s.totals {
		dst = le.AppendUint64(dst, v)
	}
	return le.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli)), nil
}

// ParseArraySummary parses what AppendBinary returned.
func ParseArraySummary(b []byte) (*ArraySummary, error) {
	if len(b) < summaryHead+4 || string(b[:4]) != summaryMagic {
		return nil, fmt.Errorf("xtf: array summary: %w", corrupt("no head in %d bytes", len(b)))
	}
	body := len(b) - 4
	if crc32.Checksum(b[:body], castagnoli) != le.Uint32(b[body:]) {
		return nil, fmt.Errorf("xtf: array summary: %w", corrupt("checksum mismatch"))
	}
	s := &ArraySummary{
		typ: TypeID(le.Uint32(b[4:])), proc: Proc(le.Uint32(b[8:])),
		codec: Codec(b[12]), k: int(b[13]),
		rowBytes: int(le.Uint32(b[16:])), pageRows: int(le.Uint32(b[20:])),
		rows: le.Uint64(b[24:]), first: le.Uint64(b[32:]), last: le.Uint64(b[40:]), maxEnd: le.Uint64(b[48:]),
	}
	pages := le.Uint64(b[56:])
	if s.k > maxSums || pages > uint64(len(b)/summaryPage) || s.pageRows == 0 ||
		pages != rowsToPages(s.rows, s.pageRows) ||
		uint64(body) != summaryHead+pages*summaryPage+8*uint64(s.k)*pages+8*uint64(s.k) {
		return nil, fmt.Errorf("xtf: array summary: %w", corrupt("%d pages, %d sums in %d bytes", pages, s.k, len(b)))
	}
	s.pages = make([]pageRef, pages)
	at := summaryHead
	for i := range s.pages {
		var p pageRef
		p.Load(b[at:])
		if p.off < 0 || p.stored > maxRaw {
			return nil, fmt.Errorf("xtf: array summary: %w", corrupt("page %d has %d bytes at %d", i, p.stored, p.off))
		}
		s.pages[i] = p
		at += summaryPage
	}
	s.ps, at = take64(b, at, s.k*len(s.pages))
	s.totals, _ = take64(b, at, s.k)
	return s, nil
}

func take64(b []byte, at, n int) ([]uint64, int) {
	if n == 0 {
		return nil, at
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = le.Uint64(b[at+8*i:])
	}
	return v, at + 8*n
}

func rowsToPages(n uint64, z int) uint64 {
	if n == 0 {
		return 0
	}
	return (n-1)/uint64(z) + 1
}
