package record

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// prototype is a function of the MPI library, as its mpi.h declares it.
type prototype struct {
	name    string // without MPI_
	extra   bool   // it has MPIX_ instead: what it does is in the standard, but in a later one than the library
	returns string
	params  []param
}

// param is a parameter by the name of the MPI standard.
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

// errHeader says that the MPI library's header is not one that wrappers can be made for.
var errHeader = errors.New("no MPI functions in the preprocessed mpi.h")

// parsePrototypes finds the functions of a preprocessed mpi.h, sorted by name. Those of the tools interface are
// left out. Of extensions those are taken that prepare a request.
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
	list := make([]prototype, 0, len(found))
	for _, p := range found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b prototype) int { return strings.Compare(a.symbol(), b.symbol()) })
	return list, nil
}

// symbol returns the name of p in C.
func (p *prototype) symbol() string {
	if p.extra {
		return "MPIX_" + p.name
	}
	return "MPI_" + p.name
}

// extensions returns the lines that include what declares the extensions among some functions.
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

// has reports whether p has a parameter of that name.
func (p *prototype) has(name string) bool {
	return slices.ContainsFunc(p.params, func(q param) bool { return q.name == name })
}

// operation returns the name of the blocking call that does what p does, and whether p does it later: it starts or prepares it.
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

// prepares reports whether p makes a request that is started later, as often as wanted.
func (p *prototype) prepares() bool {
	return strings.HasSuffix(strings.TrimSuffix(p.name, "_c"), "_init")
}
