package record

import (
	"context"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gnuRuntime is the OpenMP runtime of gcc and gfortran. It does not implement OMPT. LLVM's runtime does, and exports the same functions
// under the same versions.
const gnuRuntime = "libgomp.so.1"

// ompt is the function that an OpenMP runtime calls to find its tool.
const ompt = "ompt_start_tool"

// openMPRuntime returns the path of an OMPT-capable library that can replace GNU's OpenMP runtime in the command's program. path is "" if
// the program does not use GNU's runtime, or another one as well. If it does and cannot have a replacement, why gives the reason.
func openMPRuntime(ctx context.Context, cc string, command []string) (path, why string) {
	i, _, err := programAt(ctx, command)
	if err != nil {
		return "", ""
	}
	program, err := exec.LookPath(command[i])
	if err != nil {
		return "", ""
	}
	loaded := []string{program}
	b, _ := exec.CommandContext(ctx, "ldd", program).Output()
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " (")
		if _, path, ok := strings.Cut(name, " => "); ok {
			name = path
		}
		loaded = append(loaded, name)
	}
	named := func(name string) func(string) bool {
		return func(path string) bool { return strings.HasPrefix(filepath.Base(path), name) }
	}
	if defines(program, "GOMP_parallel") {
		return "", "the program has GNU's runtime of OpenMP, which has no OMPT, in itself, linked statically: link " + gnuRuntime
	}
	if !slices.ContainsFunc(loaded, named(gnuRuntime)) || slices.ContainsFunc(loaded, named("libomp.so")) || slices.ContainsFunc(loaded, named("libiomp5.so")) {
		return "", ""
	}
	for _, name := range [...]string{"libomp.so.5", "libomp.so"} {
		b, err := exec.CommandContext(ctx, cc, "-print-file-name="+name).Output()
		path := strings.TrimSpace(string(b))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		has, err := exported(path)
		if err != nil || !slices.ContainsFunc(has, func(s elf.Symbol) bool { return s.Name == ompt }) {
			continue
		}
		if missing := lacking(has, loaded); len(missing) > 0 {
			return "", fmt.Sprintf("%s has not all functions of %s that are called: %s", path, gnuRuntime, strings.Join(missing, ", "))
		}
		return path, ""
	}
	return "", fmt.Sprintf("the program needs %s, which has no OMPT, and there is no libomp of LLVM to take its place", gnuRuntime)
}

// defines reports whether a program's symbol table has a function that is linked into it statically.
func defines(path, function string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	list, _ := f.Symbols()
	return slices.ContainsFunc(list, func(s elf.Symbol) bool { return s.Name == function && s.Section != elf.SHN_UNDEF })
}

// exported returns the functions that a library exports.
func exported(path string) ([]elf.Symbol, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.DynamicSymbols()
	return slices.DeleteFunc(list, func(s elf.Symbol) bool { return s.Section == elf.SHN_UNDEF }), err
}

// lacking returns the functions of GNU's runtime that the files call and that has does not contain, or only in another version.
func lacking(has []elf.Symbol, files []string) (missing []string) {
	type versioned struct{ name, version string }
	known := map[versioned]bool{}
	for _, s := range has {
		known[versioned{s.Name, s.Version}] = true
	}
	for _, path := range files {
		f, err := elf.Open(path)
		if err != nil { // for example linux-vdso
			continue
		}
		list, _ := f.ImportedSymbols()
		f.Close()
		for _, s := range list {
			if s.Library == gnuRuntime && !known[versioned{s.Name, s.Version}] && !slices.Contains(missing, s.Name) {
				missing = append(missing, s.Name)
			}
		}
	}
	slices.Sort(missing)
	return missing
}
