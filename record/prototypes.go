package record

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// prototype is the declaration of a function in mpi.h.
type prototype struct {
	name    string // without MPI_
	extra   bool   // MPIX_ instead: Open MPI's name for a function of a later standard than it supports
	returns string
	params  []param
}

// param is a parameter. Names that differ between MPI libraries are changed to those of the MPI standard.
type param struct {
	ctype string // without const and without the name; arrays as pointers
	name  string
	text  string // the whole declaration
	array bool   // declared as name[]
}

var (
	declaration = regexp.MustCompile(`(?s)\b(int|double|MPI_[A-Za-z0-9_]+)\s+(MPIX?_[A-Z][A-Za-z0-9_]*)\s*\(([^;{}()]*)\)\s*(?:__attribute__[^;]*)?;`)
	parameter   = regexp.MustCompile(`^(.*?)([A-Za-z_][A-Za-z0-9_]*)?((?:\s*\[[^\]]*\])*)$`)
	spaces      = regexp.MustCompile(`\s+`)
)

// errHeader says that mpi.h declares no MPI functions that parsePrototypes finds.
var errHeader = errors.New("no MPI functions in the preprocessed mpi.h")

// parsePrototypes returns the functions that a preprocessed mpi.h declares, sorted by name. It leaves out the tools interface (MPI_T_), and
// all extensions (MPIX_) except those that prepare a persistent request.
func parsePrototypes(header string) ([]prototype, error) {
	found := make(map[string]prototype)
	for _, m := range declaration.FindAllStringSubmatch(header, -1) {
		prefix, name, _ := strings.Cut(m[2], "_")
		p := prototype{name: name, extra: prefix == "MPIX", returns: m[1]}
		if strings.HasPrefix(name, "T_") || p.extra && !p.prepares() {
			continue
		}
		for _, text := range strings.Split(m[3], ",") {
			if text = strings.TrimSpace(spaces.ReplaceAllString(text, " ")); text != "" && text != "void" {
				p.params = append(p.params, parseParam(text))
			}
		}
		found[p.symbol()] = p
	}
	for _, must := range [...]string{"Init", "Finalize", "Send", "Waitall"} {
		if _, ok := found["MPI_"+must]; !ok {
			return nil, fmt.Errorf("%w: MPI_%s is missing", errHeader, must)
		}
	}
	byName := func(a, b prototype) int { return strings.Compare(a.symbol(), b.symbol()) }
	return slices.SortedFunc(maps.Values(found), byName), nil
}

// symbol returns the name of p in C.
func (p *prototype) symbol() string {
	if p.extra {
		return "MPIX_" + p.name
	}
	return "MPI_" + p.name
}

// extensions returns the #include lines that the extensions in list need.
func extensions(list []prototype) string {
	if slices.ContainsFunc(list, func(p prototype) bool { return p.extra }) {
		return "#include <mpi.h>\n#include <mpi-ext.h>\n"
	}
	return ""
}

func parseParam(text string) param {
	if text == "..." {
		return param{ctype: text, text: text}
	}
	m := parameter.FindStringSubmatch(text)
	p := param{ctype: strings.TrimSpace(m[1]), name: m[2], text: text, array: m[3] != ""}
	p.ctype = strings.TrimSpace(strings.TrimPrefix(p.ctype, "const "))
	p.ctype = strings.ReplaceAll(p.ctype, " *", "*")
	if strings.HasPrefix(p.name, "array_of_") && !p.array { // Open MPI declares some of them as pointers
		p.ctype, p.array = strings.TrimSuffix(p.ctype, "*"), true
	}
	if p.name == "indx" { // MPICH's name
		p.name, p.text = "index", strings.Replace(p.text, "indx", "index", 1)
	}
	if p.name == "type" && p.ctype == "MPI_Datatype" { // Open MPI's name in MPI_Mrecv
		p.name, p.text = "datatype", "MPI_Datatype datatype"
	}
	return p
}

// number returns the index of the parameter with this name, -1 if there is none.
func (p *prototype) number(name string) int {
	return slices.IndexFunc(p.params, func(q param) bool { return q.name == name })
}

func (p *prototype) has(name string) bool { return p.number(name) >= 0 }

// operation returns the name of the blocking function of the same operation, and whether p only starts or prepares it.
func (p *prototype) operation() (name string, later bool) {
	name = strings.TrimSuffix(p.name, "_c")
	if !p.has("request") {
		return name, false
	}
	if base, ok := strings.CutSuffix(name, "_init"); ok {
		return base, true
	}
	if base, ok := strings.CutPrefix(name, "I"); ok && base != "" {
		return strings.ToUpper(base[:1]) + base[1:], true
	}
	return name, false
}

// prepares reports whether p makes a persistent request.
func (p *prototype) prepares() bool {
	return strings.HasSuffix(strings.TrimSuffix(p.name, "_c"), "_init")
}
