package trace

import (
	"fmt"
	"path"
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

// CallSite returns the frames from which the calls of a region come, as in DescribeCallSite. It is empty where the trace does not
// say, and for nil.
func (d *Definitions) CallSite(r *Region) []string {
	if r == nil || r.Description == Undefined {
		return nil
	}
	frames, ok := strings.CutPrefix(d.Text(r.Description), calledFrom)
	if !ok || frames == "" || !d.HasSites(r) {
		return nil
	}
	return strings.Split(frames, siteSeparator)
}

// ofLibrary begins the description of a region that is a function of a library of the system.
const ofLibrary = "function of "

// DescribeFunction returns the description of a region that is a function of the program or library in file. Functions of the
// system's libraries, which are not the program's own, get one; others "".
func DescribeFunction(file string) string {
	if !strings.HasPrefix(file, "/lib") && !strings.HasPrefix(file, "/usr/lib") && strings.HasPrefix(file, "/") {
		return ""
	}
	return ofLibrary + file[strings.LastIndexByte(file, '/')+1:]
}

// OfSystem reports whether a region is a function of a library of the system, or of a header of one. It is false for nil.
func (d *Definitions) OfSystem(r *Region) bool {
	if r == nil {
		return false
	}
	file := d.Text(r.SourceFile)
	return r.Paradigm == ParadigmCompiler && (strings.HasPrefix(d.Text(r.Description), ofLibrary) || strings.HasPrefix(file, "/usr/include/") || strings.HasPrefix(file, "/usr/lib/"))
}

// HasSites reports whether the calls of a region may tell from where they come: those of MPI, of file I/O and of threads.
func (d *Definitions) HasSites(r *Region) bool {
	return d.IsMPI(r) || r.Role == RoleFileIO || r.Role == RoleFileIOMetadata || r.Paradigm == ParadigmOpenMP || r.Paradigm == ParadigmPthread
}

// CallPlace returns the innermost place of a call site: "halo.c:42", or "solve+0x2a" where the line is not known; "" for none.
// Where a library without lines or an inline function of a header makes the call, it is the program's line that calls that code,
// and the place in it: "halo.c:42 > solve+0x2a".
func (d *Definitions) CallPlace(r *Region) string { return placeOf(d.CallSite(r)) }

// placeOf returns the place of frames, as CallPlace does.
func placeOf(frames []string) string {
	if len(frames) == 0 {
		return ""
	}
	last := frames[len(frames)-1]
	i, line := lined(frames)
	if i < 0 {
		return last
	}
	if i == len(frames)-1 {
		last = line
	}
	for j, outer := i, line; j >= 0; j, outer = lined(frames[:j]) {
		if name, _, _ := strings.Cut(outer, ":"); !slices.Contains(headers, path.Ext(name)) {
			line = outer
			break
		}
	}
	if line == last {
		return line
	}
	return line + siteSeparator + last
}

// headers are the suffixes of files whose lines are not places in a program: they hold inline functions.
var headers = []string{".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc"}

// lined returns the index of the innermost frame with a line, and the line as "halo.c:42"; -1 for none.
func lined(frames []string) (int, string) {
	for i, frame := range slices.Backward(frames) {
		if at := strings.LastIndex(frame, " ("); at >= 0 && strings.HasSuffix(frame, ")") {
			return i, frame[at+2 : len(frame)-1]
		}
	}
	return -1, ""
}

// fatalIn separates what ended a process from the frames where that happened.
const fatalIn = " in "

// DescribeFatal returns the value of PropertyUnfinished for a process that a signal or an error of MPI ended. what is
// UnfinishedSignal and a name, or UnfinishedError and a text in quotes; frames are as in DescribeCallSite.
func DescribeFatal(what string, frames []string) string {
	if len(frames) > 0 {
		what += fatalIn + strings.Join(frames, siteSeparator)
	}
	return what
}

// FatalOf takes such a value apart. what comes with the innermost frame that has a line and the frame that it called; place is as
// in CallPlace. ok is false for other values.
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

// BareName returns a name of C++ without the arguments of its templates: a<…>::f.
func BareName(name string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		if depth == 0 && strings.HasPrefix(name[i:], "operator") {
			n := len("operator")
			n += len(name[i+n:]) - len(strings.TrimLeft(name[i+n:], "<=>-"))
			b.WriteString(name[i : i+n])
			i += n - 1
			continue
		}
		switch c := name[i]; {
		case c == '<':
			if depth++; depth == 1 {
				b.WriteString("<…")
			}
		case c == '>' && name[max(i, 1)-1] != '-':
			if depth--; depth < 0 {
				return name
			}
		}
		if depth == 0 {
			b.WriteByte(name[i])
		}
	}
	if depth > 0 { // not a name of C++
		return name
	}
	return b.String()
}
