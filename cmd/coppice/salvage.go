package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
)

// part is a region that can be read in a file that does not open. Its locations
// have their ordinal: the definitions that name them are not there.
type part struct {
	Ordinal *uint32     `json:"ordinal"` // of the location, null for the whole run
	Offset  int64       `json:"offset"`
	Arrays  []partArray `json:"arrays"`
}

type partArray struct {
	Name     string `json:"name"`
	Rows     uint64 `json:"rows"`
	Readable uint64 `json:"readable"`
}

// salvage looks for what is readable in a file that does not open because of why,
// and says whether there is something.
func (c *checked) salvage(path string, why error) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	res, err := xtf.Salvage(f, st.Size())
	if err != nil {
		return false
	}
	c.Kind = "incomplete run"
	c.add(problem{Kind: "file", Severity: "damage", Count: 1, Text: why.Error()})
	c.Found += res.Found
	c.Bytes, c.Pages, c.Rows, c.LostRows, c.Regions = res.Bytes, &res.Pages, &res.Rows, &res.LostRows, &res.Lost
	c.Readable = []part{}
	for _, x := range res.Parts {
		p := part{Offset: x.Offset, Arrays: []partArray{}}
		if x.P != xtf.WholeRun {
			ordinal := uint32(x.P)
			p.Ordinal = &ordinal
		}
		for _, a := range x.Arrays {
			p.Arrays = append(p.Arrays, partArray{a.Name, a.Rows, a.Readable})
			if a.Type == xtf.TypeDirectory {
				c.Notes = append(c.Notes, fmt.Sprintf("the directory is there, with %s of %s rows: %s", report.Count(a.Readable), report.Count(a.Rows), report.Plural(int(a.Rows-1), "location")))
			}
		}
		c.Readable = append(c.Readable, p)
		if p.Ordinal != nil {
			c.Locations++
		}
	}
	if n := res.Regions - uint64(len(res.Parts)); n > 0 {
		c.Notes = append(c.Notes, report.Count(n)+" regions more are there, and not listed")
	}
	for _, p := range res.Problems {
		c.Problems = append(c.Problems, lostPart(p))
	}
	return true
}

// lostPart is a problem of a file without definitions.
func lostPart(p xtf.Problem) problem {
	x := problem{Kind: "page", Severity: "damage", Count: max(p.Rows, 1), Text: p.String()}
	if p.Rows > 0 {
		x.Row = &p.First
	}
	if p.P != xtf.WholeRun {
		id := uint64(p.P)
		x.Location = &id
	}
	return x
}

// partsText lists what is readable: a line a region.
func (c *checked) partsText(w io.Writer, limit int) {
	for i := range c.Readable[:min(limit, len(c.Readable))] {
		p := &c.Readable[i]
		where := "whole run"
		if p.Ordinal != nil {
			where = fmt.Sprintf("location with ordinal %d", *p.Ordinal)
		}
		arrays := make([]string, len(p.Arrays))
		for k, a := range p.Arrays {
			arrays[k] = fmt.Sprintf("%s %s of %s rows", report.Clean(a.Name, 40), report.Count(a.Readable), report.Count(a.Rows))
		}
		if len(arrays) == 0 {
			arrays = []string{"no rows"}
		}
		fmt.Fprintf(w, "readable: %s, at byte %d: %s\n", where, p.Offset, strings.Join(arrays, ", "))
	}
	if n := len(c.Readable) - limit; n > 0 {
		fmt.Fprintf(w, "and %s more\n", report.Plural(n, "region"))
	}
}
