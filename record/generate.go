package record

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// generate returns the C sources of the wrappers of all functions that mpi.h declares.
func generate(header string) ([]string, error) {
	all, err := parsePrototypes(header)
	if err != nil {
		return nil, err
	}
	g := &generator{head: "/* Made from mpi.h: a wrapper for every function, for C and for Fortran. */\n" +
		extensions(all) + "#include \"log.h\"\n#include \"fortran.h\"\n#include <stdlib.h>\n#include <string.h>\n\n"}
	all = slices.DeleteFunc(all, func(p prototype) bool { return !wrapped(&p) })
	names, classes := make([]string, len(all)), make([]byte, len(all))
	for i := range all {
		names[i], classes[i] = all[i].symbol(), logOf(&all[i]).class
	}
	g.line("HIDDEN const char cr_classes[] = \"%s\";", classes)
	g.line("HIDDEN const char cr_functions[] = \"%s\";\n", strings.Join(names, "\\n\"\n\t\""))
	g.wrap(all, g.wrapC, g.wrapFortran)
	return g.sources(), nil
}

// wrap writes the C and Fortran wrappers of all functions. The index of a function in list is its number in events.
func (g *generator) wrap(list []prototype, c, fortran func(p *prototype, id int)) {
	for id := range list {
		p := &list[id]
		c(p, id)
		if !strings.HasSuffix(p.name, "_c") && !strings.HasSuffix(p.name, "_x") { // not in Fortran
			fortran(p, id)
		}
		if g.Len() >= partBytes {
			g.parts = append(g.parts, g.head+g.String())
			g.Reset()
		}
	}
}

// wrapped reports whether a function gets a generated wrapper. Others do not return an error code (MPI_Wtime), convert handles, or are in
// specialC.
func wrapped(p *prototype) bool {
	if p.returns != "int" || specialC[p.name] {
		return false
	}
	return !strings.Contains(p.name, "c2f") && !strings.Contains(p.name, "f2c") && !strings.Contains(p.name, "f08") &&
		!strings.HasPrefix(p.name, "Aint_") && !slices.ContainsFunc(p.params, func(q param) bool { return q.ctype == "..." })
}

// specialC are the functions whose wrappers are written by hand.
var specialC = map[string]bool{
	"Init": true, "Init_thread": true, "Finalize": true, "Abort": true, "Pcontrol": true, "Initialized": true, "Finalized": true,
	"Query_thread": true, "Is_thread_main": true,
}

// generator writes C sources. It splits them into parts, so that several compilers can work at once.
type generator struct {
	strings.Builder
	head  string // start of each part
	parts []string
}

// partBytes is the size at which a part ends.
const partBytes = 256 << 10

func (g *generator) sources() []string { return append(g.parts, g.head+g.String()) }

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.Builder, format, args...)
	g.WriteByte('\n')
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// needs returns the parameters that a hook uses, by name, and "saved" if it uses the requests from before the call.
func (h hook) needs(p *prototype) map[string]bool {
	m := make(map[string]bool)
	for _, w := range word.FindAllString(strings.Join([]string{h.before, h.entered, h.after, h.failed, h.logged}, " "), -1) {
		if w == "saved" || p.has(w) {
			m[w] = true
		}
	}
	return m
}

// request returns the request parameter of a function, and the name of the parameter with its length; "" if it is not an array.
func (p *prototype) request() (q param, length string) {
	for _, q := range p.params {
		if !strings.HasPrefix(q.ctype, "MPI_Request") {
			continue
		}
		if !q.array {
			return q, ""
		}
		if p.has("incount") {
			return q, "incount"
		}
		return q, "count"
	}
	return param{}, ""
}

func (g *generator) wrapC(p *prototype, id int) {
	h := hookOf(p).withLog(p, id)
	needs := h.needs(p)
	decl, args := p.parameters()
	call := fmt.Sprintf("P%s(%s)", p.symbol(), args)
	g.line("int %s(%s)\n{", p.symbol(), decl)
	g.session(p)
	g.line("\tif (!cr_enter(%d, CR_PLACE))\n\t\treturn %s;", id, call)
	q, length := p.request()
	release := ""
	g.form(p, h, "0", func(i int) string { return p.params[i].name })
	if needs["saved"] {
		release += g.saved(q, length)
	}
	room := newRoom(length, needs)
	for _, q := range p.params {
		switch {
		case !needs[q.name]:
		case q.ctype == "MPI_Status*":
			g.line("\tMPI_Status own;\n\tif (%s == MPI_STATUS_IGNORE)\n\t\t%s = &own;", q.name, q.name)
		case q.ctype == "MPI_Status" && q.array:
			array, _ := p.request()
			g.line("\tMPI_Status own[FEW], *ours = %s == MPI_STATUSES_IGNORE ? cr_statuses(own, %s ? %s : 0) : NULL;\n\tif (ours)\n\t\t%s = ours;", q.name, array.name, length, q.name)
			room = append(room, q.name+" != MPI_STATUSES_IGNORE")
			release += "\tif (ours && ours != own)\n\t\tfree(ours);\n"
		}
	}
	if h.before != "" {
		g.line("\t%s", h.before)
	}
	g.line("\tint rc = %s;", call)
	g.entered(h)
	g.line("\tcr_returned();")
	g.left(h, room)
	g.WriteString(release)
	g.line("\tcr_leave();\n\treturn rc;\n}\n")
}

// saved writes a copy of the requests as they are before a call, which may set them to MPI_REQUEST_NULL. It returns the code that frees the
// copy.
func (g *generator) saved(q param, length string) (release string) {
	if length == "" {
		g.line("\tMPI_Request saved[1];\n\tcr_saved(saved, %s, 1);", q.name)
		return ""
	}
	g.line("\tMPI_Request few[FEW], *saved = cr_saved(few, %s, %s);", q.name, length)
	return "\tif (saved != few)\n\t\tfree(saved);\n"
}

// newRoom returns C conditions that are false if memory for the arrays of a wrapper could not be allocated.
func newRoom(length string, needs map[string]bool) []string {
	if length == "" || !needs["saved"] {
		return nil
	}
	return []string{"saved"}
}

// entered writes the part of a hook whose events have the time at which the call began.
func (g *generator) entered(h hook) {
	if h.entered != "" {
		g.line("\tif (%s) {\n\t\t%s\n\t}", h.taken, h.entered)
	}
}

// left writes the parts of a hook that come after the call. They are skipped if a condition in room is false.
func (g *generator) left(h hook, room []string) {
	if len(room) > 0 {
		g.line("\tif (%s) {", strings.Join(room, " && "))
	}
	if h.after != "" {
		g.line("\tif (%s) {\n\t\t%s\n\t}", h.taken, h.after)
	}
	if h.failed != "" {
		g.line("\tif (!(%s)) {\n\t\t%s\n\t}", h.taken, h.failed)
	}
	if h.logged != "" {
		g.line("\t%s", h.logged)
	}
	if len(room) > 0 {
		g.line("\t}")
	}
}

// form declares what a hook needs to know about the language. from is the index of an array's first element: 0 in C, 1 in Fortran.
// newcomm_at is the address at which the program expects the handle of a new communicator. filename_length is -1 in C.
func (g *generator) form(p *prototype, h hook, from string, argument func(i int) string) {
	words := word.FindAllString(h.after+" "+h.logged, -1)
	if slices.Contains(words, "from") {
		g.line("\tconst int from = %s;", from)
	}
	if slices.Contains(words, "newcomm_at") {
		g.line("\tconst void *newcomm_at = %s;", argument(p.number("newcomm")))
	}
	if slices.Contains(words, "filename_length") {
		length := "-1" /* it ends with a zero byte */
		if from != "0" {
			length = "(long)(intptr_t)l0"
		}
		g.line("\tconst long filename_length = %s;", length)
	}
}

// session writes the call that notes that the program uses MPI sessions.
func (g *generator) session(p *prototype) {
	if p.name == "Session_init" {
		g.line("\tcr_session();")
	}
}

// parameters returns the declarations and the names of the parameters, each as a C list.
func (p *prototype) parameters() (decl, names string) {
	if len(p.params) == 0 {
		return "void", ""
	}
	var texts, list []string
	for _, q := range p.params {
		texts, list = append(texts, q.text), append(list, q.name)
	}
	return strings.Join(texts, ", "), strings.Join(list, ", ")
}

// fortranParameters returns the parameter names of the Fortran binding. All are addresses; the lengths of character arguments follow after
// ierror.
func (p *prototype) fortranParameters() (names []string) {
	var lengths []string
	for i, q := range p.params {
		names = append(names, fmt.Sprintf("a%d", i))
		if strings.HasPrefix(q.ctype, "char") {
			lengths = append(lengths, fmt.Sprintf("l%d", len(lengths)))
		}
	}
	return append(append(names, "ierror"), lengths...)
}

// otherNames declares aliases of a Fortran binding (name with one underscore) with the names that other Fortran compilers use.
func (g *generator) otherNames(p *prototype, args string) {
	lower := strings.ToLower(p.symbol())
	for _, symbol := range [...]string{lower, lower + "__", strings.ToUpper(p.symbol())} {
		if symbol != p.symbol() {
			g.line("void %s(%s) __attribute__((alias(\"%s_\")));", symbol, args, lower)
		}
	}
}

// wrapFortran writes the wrappers of the Fortran bindings, which convert the parameters that the hook uses to C.
func (g *generator) wrapFortran(p *prototype, id int) {
	names := p.fortranParameters()
	args, pass := "void *"+strings.Join(names, ", void *"), strings.Join(names, ", ")
	lower := strings.ToLower(p.symbol())
	g.line("typedef void f_%s(void *%s);", lower, strings.Repeat(", void *", len(names)-1))
	g.line("static void fortran_%s(f_%s *real, struct cr_place place, %s)\n{", lower, lower, args)
	call := fmt.Sprintf("real(%s);", pass)
	g.session(p)
	g.line("\tif (!cr_enter(%d, place)) {\n\t\t%s\n\t\treturn;\n\t}", id, call)
	g.fortranBody(p, id, call)
	g.line("\tcr_leave();\n}\n")
	define := func(symbol string) {
		g.line("void %s(%s)\n{\n\tstatic f_%s *real;\n\tif (!real)\n\t\treal = (f_%s *)cr_library(\"%s\");\n\tfortran_%s(real, CR_PLACE, %s);\n}",
			symbol, args, lower, lower, symbol, lower, pass)
	}
	define(lower + "_")
	g.otherNames(p, args)
	define(lower + "_f08_")
	g.line("")
}

// fortranBody writes the call and its hook. Parameters that the hook reads before the call are converted before it, results after it.
func (g *generator) fortranBody(p *prototype, id int, call string) {
	h := hookOf(p).withLog(p, id)
	h.entered, h.after, h.logged = fortranTypes.Replace(h.entered), fortranTypes.Replace(h.after), fortranTypes.Replace(h.logged)
	needs := h.needs(p)
	var release string
	g.line("\tMPI_Fint own_error = MPI_SUCCESS;\n\tif (!ierror)\n\t\tierror = &own_error;")
	g.form(p, h, "1", func(i int) string { return fmt.Sprintf("a%d", i) })
	array, length := p.request()
	room := newRoom(length, needs)
	for i, q := range p.params {
		if !needs[q.name] && !(needs["saved"] && (q.name == length || strings.HasPrefix(q.ctype, "MPI_Request"))) {
			continue
		}
		if q.ctype == "MPI_File*" && !strings.Contains(h.before, q.name) { // MPICH aborts when it converts an invalid handle
			g.line("\tMPI_File %s_v = MPI_FILE_NULL, *%s = &%s_v;", q.name, q.name, q.name)
			continue
		}
		g.fortranParam(q, i, length, &release)
		switch {
		case q.ctype == "MPI_Request" && q.array:
			room = append(room, q.name)
		case q.ctype == "MPI_Status" && q.array:
			room = append(room, q.name, fmt.Sprintf("!cr_status_ignored(a%d)", i))
		}
	}
	if needs["saved"] {
		release += g.saved(array, length)
	}
	if h.before != "" {
		g.line("\t%s", h.before)
	}
	g.line("\t%s\n\tconst int rc = *(MPI_Fint *)ierror;\n\t(void)rc;", call)
	g.entered(h)
	g.line("\tcr_returned();")
	for i, q := range p.params {
		if needs[q.name] {
			g.fortranResult(q, i, length, room)
		}
	}
	g.left(h, room)
	g.WriteString(release)
}

// fortranTypes replaces functions for arrays of C datatypes by those for Fortran datatypes, in the text of a hook.
var fortranTypes = strings.NewReplacer("cr_types(", "cr_fortran_types(", "cr_type(", "PMPI_Type_f2c(", "lg_types(", "lg_fortran_types(", "lg_sum_types(", "lg_sum_fortran_types(")

// convert has the function that converts a Fortran handle to a C handle.
var convert = map[string]string{
	"MPI_Comm": "PMPI_Comm_f2c", "MPI_Datatype": "PMPI_Type_f2c", "MPI_Request": "PMPI_Request_f2c", "MPI_Message": "PMPI_Message_f2c",
	"MPI_Group": "PMPI_Group_f2c", "MPI_Win": "PMPI_Win_f2c", "MPI_File": "PMPI_File_f2c",
}

func (g *generator) fortranParam(q param, i int, length string, release *string) {
	base := strings.TrimSuffix(q.ctype, "*")
	switch {
	case q.ctype == "MPI_Status*":
		g.line("\tMPI_Fint own_f[STATUS_INTS];\n\tMPI_Status own, *status = &own;\n\tif (cr_status_ignored(a%d))\n\t\ta%d = own_f;", i, i)
	case q.ctype == "MPI_Status":
		g.line("\tMPI_Status own[FEW], *%s = cr_statuses(own, %s);", q.name, length)
		g.line("\tMPI_Fint few_f[FEW * STATUS_INTS], *ours_f = cr_fortran_statuses(a%d, few_f, %s);\n\tif (ours_f)\n\t\ta%d = ours_f;", i, length, i)
		*release += fmt.Sprintf("\tif (%s != own)\n\t\tfree(%s);\n\tif (ours_f && ours_f != few_f)\n\t\tfree(ours_f);\n", q.name, q.name)
	case q.ctype == "MPI_Request" && q.array:
		g.line("\tMPI_Request some_c[FEW], *%s = cr_requests(some_c, a%d, %s);", q.name, i, length)
		*release += fmt.Sprintf("\tif (%s != some_c)\n\t\tfree(%s);\n", q.name, q.name)
	case q.ctype == "MPI_Datatype" && q.array:
		g.line("\tconst MPI_Fint *%s = a%d;", q.name, i)
	case convert[base] != "" && strings.HasSuffix(q.ctype, "*"):
		g.line("\t%s %s_v = %s(*(MPI_Fint *)a%d), *%s = &%s_v;", base, q.name, convert[base], i, q.name, q.name)
	case convert[q.ctype] != "":
		g.line("\t%s %s = %s(*(MPI_Fint *)a%d);", q.ctype, q.name, convert[q.ctype], i)
	case q.ctype == "int*" && q.name == "index":
		g.line("\tint index_v = 0, *index = &index_v;")
	case (q.ctype == "int" || q.ctype == "MPI_Count" || q.ctype == "MPI_Aint") && q.array, q.ctype == "int*", q.ctype == "MPI_Count*", q.ctype == "MPI_Aint*":
		g.line("\t%s *%s = a%d;", base, q.name, i)
	case q.ctype == "int", q.ctype == "MPI_Count", q.ctype == "MPI_Aint", q.ctype == "MPI_Offset":
		g.line("\t%s %s = *(%s *)a%d;", q.ctype, q.name, q.ctype, i)
	default:
		g.line("\tconst void *%s = a%d;", q.name, i)
	}
}

func (g *generator) fortranResult(q param, i int, length string, room []string) {
	base, there := strings.TrimSuffix(q.ctype, "*"), strings.Join(room, " && ")
	switch {
	case q.ctype == "MPI_Status*":
		g.line("\tPMPI_Status_f2c(a%d, &own);", i)
	case q.ctype == "MPI_Status":
		g.line("\tfor (int i = 0; %s && i < %s; i++)\n\t\tPMPI_Status_f2c((MPI_Fint *)a%d + i * STATUS_INTS, &%s[i]);", there, length, i, q.name)
	case q.ctype == "MPI_Request" && q.array:
		g.line("\tfor (int i = 0; %s && i < %s; i++)\n\t\t%s[i] = PMPI_Request_f2c(((MPI_Fint *)a%d)[i]);", there, length, q.name, i)
	case q.ctype == "MPI_File*":
		g.line("\tif (rc == MPI_SUCCESS)\n\t\t%s_v = PMPI_File_f2c(*(MPI_Fint *)a%d);", q.name, i)
	case convert[base] != "" && strings.HasSuffix(q.ctype, "*"):
		g.line("\t%s_v = %s(*(MPI_Fint *)a%d);", q.name, convert[base], i)
	case q.ctype == "int*" && q.name == "index":
		g.line("\tindex_v = *(MPI_Fint *)a%d - 1; /* from 1 in Fortran; MPI_UNDEFINED stays negative */", i)
	}
}
