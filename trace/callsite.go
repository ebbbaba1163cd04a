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
func (d *Definitions) CallPlace(r *Region) string { return placeOf(d.CallSite(r)) }

// placeOf returns the place of frames, as CallPlace does.
func placeOf(frames []string) string {
	if len(frames) == 0 {
		return ""
	}
	last := frames[len(frames)-1]
	i, line := lined(frames)
	switch {
	case i < 0:
		return last
	case i == len(frames)-1:
		return line
	}
	return line + siteSeparator + last
}

// lined returns the index of the innermost frame that has a line, and that, as "halo.c:42"; -1 for none.
func lined(frames []string) (int, string) {
	for i, frame := range slices.Backward(frames) {
		if at := strings.LastIndex(frame, " ("); at >= 0 && strings.HasSuffix(frame, ")") {
			return i, frame[at+2 : len(frame)-1]
		}
	}
	return -1, ""
}

// fatalIn is between what ended a process and the frames where it came.
const fatalIn = " in "

// DescribeFatal returns the value of PropertyUnfinished of a process that a signal ended, or an error of MPI: what it is, which is
// UnfinishedSignal and a name or UnfinishedError and a text in quotes, and frames as in DescribeCallSite.
func DescribeFatal(what string, frames []string) string {
	if len(frames) > 0 {
		what += fatalIn + strings.Join(frames, siteSeparator)
	}
	return what
}

// FatalOf returns what a value of PropertyUnfinished says of such an end: what it was with the innermost frame that has a line and the one that
// it called, and the place, as CallPlace does. ok is false for other values.
func FatalOf(value string) (what, place string, ok bool) {
	quoted := 0
	if strings.HasPrefix(value, UnfinishedError) {
		quoted = strings.LastIndexByte(value, '"') + 1
	} else if !strings.HasPrefix(value, UnfinishedSignal) {
		return "", "", false
	}
	what, path, in := strings.Cut(value[quoted:], fatalIn)
	what = value[:quoted] + what
	if !in {
		return what, "", true
	}
	frames := strings.Split(path, siteSeparator)
	shown := frames[len(frames)-1:]
	if i, _ := lined(frames); i >= 0 {
		shown = frames[i:min(i+2, len(frames))]
	}
	return what + fatalIn + strings.Join(shown, siteSeparator), placeOf(shown), true
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
