package trace

import (
	"fmt"
	"slices"
	"strings"
)

// calledFrom begins the description of a region that is the calls of a function from one place in the source.
const calledFrom = "called from "

// siteSeparator is between the frames of a call site.
const siteSeparator = " > "

// DescribeCallSite returns the description of a region that is the calls of a function along one path. Frames are outermost first,
// each as "solve (halo.c:42)", or "solve+0x2a" where the line is not known.
func DescribeCallSite(frames []string) string {
	return calledFrom + strings.Join(frames, siteSeparator)
}

// CallSite returns from where the calls of a region come: frames as in DescribeCallSite, none where the trace does not tell.
func (d *Definitions) CallSite(r *Region) []string {
	if r.Description == Undefined {
		return nil
	}
	frames, ok := strings.CutPrefix(d.Text(r.Description), calledFrom)
	if !ok || frames == "" || !d.HasSites(r) {
		return nil
	}
	return strings.Split(frames, siteSeparator)
}

// HasSites reports whether the calls of a region may tell from where they come: those of MPI, of file I/O and of threads.
func (d *Definitions) HasSites(r *Region) bool {
	return d.IsMPI(r) || r.Role == RoleFileIO || r.Role == RoleFileIOMetadata || r.Paradigm == ParadigmOpenMP || r.Paradigm == ParadigmPthread
}

// CallPlace returns the innermost place of a call site: "halo.c:42", or "solve+0x2a" where the line is not known; "" for none. Where a
// library without lines calls, it is the line that calls the library, and the place in that: "halo.c:42 > solve+0x2a".
func (d *Definitions) CallPlace(r *Region) string {
	frames := d.CallSite(r)
	if len(frames) == 0 {
		return ""
	}
	last := frames[len(frames)-1]
	for i, frame := range slices.Backward(frames) {
		at := strings.LastIndex(frame, " (")
		if at < 0 || !strings.HasSuffix(frame, ")") {
			continue
		}
		line := frame[at+2 : len(frame)-1]
		if i == len(frames)-1 {
			return line
		}
		return line + siteSeparator + last
	}
	return last
}

// RegionLabel returns the name of a region for people, with the place of its calls: "MPI_Recv (halo.c:42)".
func (d *Definitions) RegionLabel(ref uint32) string {
	x := d.Region(ref)
	switch {
	case x == nil && ref == Undefined:
		return "(no region)"
	case x == nil:
		return fmt.Sprintf("region %d (undefined)", ref)
	}
	name := d.Text(x.Name)
	if name == "" {
		return fmt.Sprintf("region %d", ref)
	}
	if place := d.CallPlace(x); place != "" {
		return name + " (" + place + ")"
	}
	return name
}
