package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// sitesIn reads from a source which lines call MPI: "MPI_Bcast inlined (sites.c:10)".
func sitesIn(t *testing.T, name string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(MPI_\w+)\(.*[/!]\*? in (\w+)`)
	for i, line := range strings.Split(string(b), "\n") {
		if m := call.FindStringSubmatch(line); m != nil {
			list = append(list, fmt.Sprintf("%s %s (%s:%d)", m[1], m[2], name, i+1))
		}
	}
	slices.Sort(list)
	return list
}

// recordSites records a program and returns its archive's definitions and the innermost frames of its call sites, as in sitesIn.
func (l *library) recordSites(t *testing.T, depth int, program ...string) (d *trace.Definitions, raw string, list []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	r, _, errs := l.runRecorded(t, Options{Output: dir, Command: l.launch(2, program...), Sites: depth, Keep: true})
	if r.Exit != 0 {
		t.Fatal(r, errs)
	}
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	d = src.Definitions()
	for i := range d.Regions {
		x := &d.Regions[i]
		if frames := d.CallSite(x); frames != nil {
			list = append(list, d.Text(x.Name)+" "+strings.TrimPrefix(frames[len(frames)-1], "sited::"))
		}
	}
	slices.Sort(list)
	if path, err := exec.LookPath("otf2-print"); err == nil {
		c := exec.Command(path, r.Archive)
		var errs strings.Builder
		c.Stderr = &errs
		if err := c.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("otf2-print: %v %s", err, errs.String())
		}
	}
	return d, filepath.Join(dir, rawFolder), slices.Compact(list)
}

// TestFunctionNames compiles functions that the dynamic linker has no names of, or encoded ones: those are looked up after the program's end.
func TestFunctionNames(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-g", "_ZN2ns6markedEi"}, {"-rdynamic", "ns::marked"}} { // C has no such names
		l := libraries(t)[0]
		d, _, _ := l.recordSites(t, 1, l.compileProgram(t, "regions.c", flags[0], "-finstrument-functions"))
		var names []string
		for i := range d.Regions {
			if x := &d.Regions[i]; x.Paradigm == trace.ParadigmUser {
				names = append(names, fmt.Sprint(d.Text(x.Name), " ", x.BeginLine > 0))
			}
		}
		for _, name := range []string{"hidden_function", "counted_function", flags[1]} {
			if !slices.Contains(names, fmt.Sprint(name, " ", flags[0] == "-g")) {
				t.Errorf("%v: no %s in %q", flags, name, names)
			}
		}
	}
}

// TestCallSites compares the call sites of programs in C and Fortran with their sources, and all frames with what addr2line says.
func TestCallSites(t *testing.T) {
	t.Parallel()
	_, addr2line := exec.LookPath("addr2line")
	for _, l := range libraries(t) {
		for _, name := range [...]string{"sites.c", "sites.f90"} {
			for _, debug := range [...]string{"-gdwarf-5", "-gdwarf-4"} {
				t.Run(l.cc+" "+name+" "+debug, func(t *testing.T) {
					program := []string{l.compileProgram(t, name, debug, "-O1", "-ldl")}
					want := sitesIn(t, name)
					if name == "sites.c" {
						program = append(program, l.compileProgram(t, "plugged.c", debug, "-O1", "-shared", "-fPIC"))
						want = append(want, sitesIn(t, "plugged.c")...)
						slices.Sort(want)
					}
					for _, depth := range [...]int{1, 8} {
						_, raw, got := l.recordSites(t, depth, program...)
						if name == "sites.f90" { // calls of the program's start and end are inlined into its first function, with lines of that
							got, want = shortened(got), shortened(want)
						}
						if !slices.Equal(got, want) {
							t.Errorf("depth %d: call sites\n%s\nwant\n%s", depth, strings.Join(got, "\n"), strings.Join(want, "\n"))
						}
						if addr2line == nil {
							asAddr2line(t, raw)
						}
					}
					if addr2line != nil {
						t.Skip("frames are not compared: no addr2line, which Debian's binutils have: ", addr2line)
					}
				})
			}
		}
	}
}

// shortened leaves out MPI_Init and MPI_Finalize.
func shortened(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, "MPI_Init ") || strings.HasPrefix(s, "MPI_Finalize ") })
}

// asAddr2line compares files and lines of all frames with those that addr2line finds.
func asAddr2line(t *testing.T, raw string) {
	t.Helper()
	f, err := os.Open(filepath.Join(raw, recording.NamesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compared := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var x recording.Named
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if x.Frames[0].Line == 0 || !strings.Contains(x.Frames[0].File, "testdata") {
			continue
		}
		b, err := exec.Command("addr2line", "-i", "-e", x.Module, fmt.Sprintf("%#x", x.Offset-1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
			line, _, _ = strings.Cut(line, " (discriminator")
			want = append(want, filepath.Base(line))
		}
		for _, frame := range x.Frames {
			got = append(got, fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %#x: frames %v, addr2line says %v", x.Module, x.Offset, got, want)
		}
		compared++
	}
	if compared < 5 {
		t.Errorf("%d addresses compared", compared)
	}
}

// TestCallPaths holds the paths of calls, also where frames have other sizes from call to call, and one path for each depth of a
// recursion.
func TestCallPaths(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	d, _, _ := l.recordSites(t, 8, l.compileProgram(t, "sites.c", "-g", "-O1"))
	paths := map[string]int{}
	depths := map[int]bool{}
	function := regexp.MustCompile(` \(sites\.c:\d+\)`)
	for i := range d.Regions {
		x := &d.Regions[i]
		frames := d.CallSite(x)
		if frames == nil {
			continue
		}
		for k := range frames {
			frames[k] = function.ReplaceAllString(frames[k], "")
		}
		if d.Text(x.Name) == "MPI_Comm_size" {
			depths[len(frames)] = true
			continue
		}
		paths[strings.Join(append(frames, d.Text(x.Name)), " > ")]++
	}
	for _, want := range [...]string{"main > MPI_Init", "main > fixed > inlined > MPI_Bcast", "main > fixed > MPI_Barrier", "main > sized > MPI_Allreduce"} {
		if paths[want] != 1 {
			t.Errorf("%d regions %s in %v", paths[want], want, paths)
		}
	}
	for n := 2; n < 6; n++ {
		if !depths[n] {
			t.Errorf("no recursion of depth %d in %v", n, depths)
		}
	}
}

// TestCallsThroughLibrary holds that calls of a library without lines are at the line of the program that calls the library, but those
// whose frames move on the stack, which would be unwound each time: after a few they have the library's place alone.
func TestCallsThroughLibrary(t *testing.T) {
	t.Parallel()
	if goruntime.GOARCH != "amd64" {
		t.Skip("return addresses have a fixed place below the frames of x86-64 alone")
	}
	l := libraries(t)[0]
	library, object := l.compileProgram(t, "through.c", "-O1", "-shared", "-fPIC"), l.compileProgram(t, "through.c", "-O1", "-c")
	for _, x := range [...]struct {
		debug  string
		loaded []string
		want   map[string]uint64 // calls on each process
	}{
		{"-g " + object, nil, map[string]uint64{"MPI_Barrier main > plugged": 40, "MPI_Allreduce main > plugged > swaying": 8, "MPI_Allreduce swaying": 32}},
		{"-g", []string{library}, map[string]uint64{"MPI_Barrier main > plugged": 40, "MPI_Allreduce main > plugged > swaying": 8, "MPI_Allreduce swaying": 32}},
		{"-s", []string{library}, map[string]uint64{"MPI_Barrier plugged": 40, "MPI_Allreduce swaying": 40}},
	} {
		d, raw, _ := l.recordSites(t, 1, append([]string{l.compileProgram(t, "sites.c", append([]string{"-O1", "-ldl"}, strings.Fields(x.debug)...)...)}, x.loaded...)...)
		calls := map[uint32]uint64{}
		eachEvent(t, filepath.Join(filepath.Dir(raw), "traces.otf2"), func(p trace.P, e *trace.Event) {
			if p == 0 && e.Kind == trace.Enter {
				calls[e.Ref]++
			}
		})
		got := map[string]uint64{}
		offset := regexp.MustCompile(`\+0x[0-9a-f]+`)
		for i := range d.Regions {
			r := &d.Regions[i]
			frames := d.CallSite(r)
			if len(frames) == 0 || !strings.Contains(frames[len(frames)-1], "+0x") {
				continue
			}
			for k := range frames {
				frames[k], _, _ = strings.Cut(offset.ReplaceAllString(frames[k], ""), " (")
			}
			if last := frames[len(frames)-1]; last == "plugged" || last == "swaying" {
				got[d.Text(r.Name)+" "+strings.Join(frames, " > ")] += calls[r.Ref]
			}
		}
		if !maps.Equal(got, x.want) {
			t.Errorf("%s: calls %v, want %v", x.debug, got, x.want)
		}
	}
}

// TestSitesOfLargeLibraries holds that the module of a frame is found without the linker's search of all its symbols, which takes a
// millisecond of a large library, in each call from a new path. The program counts the searches and fails after 20.
func TestSitesOfLargeLibraries(t *testing.T) {
	t.Parallel()
	if goruntime.GOARCH != "amd64" {
		t.Skip("the program counts the searches of an x86-64 glibc")
	}
	l := libraries(t)[0]
	for _, debug := range [...]string{"-g", "-s"} {
		l.recordSites(t, 16, l.compileProgram(t, "linker.c", debug, "-O1", "-rdynamic", "-ldl"))
	}
}

// TestNoCallSites holds what is there without lines, without symbols, and without call sites.
func TestNoCallSites(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileProgram(t, "sites.c", "-O1")
	_, _, got := l.recordSites(t, 1, program)
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "MPI_Allreduce sized+0x") }) {
		t.Errorf("without lines: %v", got)
	}
	program = l.compileProgram(t, "sites.c", "-O1", "-s")
	_, _, got = l.recordSites(t, 1, program)
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "MPI_Allreduce sites+0x") }) {
		t.Errorf("without symbols: %v", got)
	}
	d, raw, got := l.recordSites(t, 0, program)
	if len(got) != 0 {
		t.Errorf("without call sites: %v", got)
	}
	if _, err := os.Stat(filepath.Join(raw, recording.NamesFile)); err == nil {
		t.Error("without call sites there are names of addresses")
	}
	for i := range d.Regions {
		if d.Regions[i].BeginLine != 0 {
			t.Errorf("region %d has a line", i)
		}
	}
}
