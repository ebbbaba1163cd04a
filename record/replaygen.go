package record

import (
	"fmt"
	"slices"
	"strings"
)

// generateReplay returns the C sources of the functions that answer MPI calls from a receive log, for all functions of mpi.h.
func generateReplay(header string) ([]string, error) {
	all, err := parsePrototypes(header)
	if err != nil {
		return nil, err
	}
	g := &generator{head: "/* Made from mpi.h: every function, answered from a receive log. */\n" + extensions(all) + "#include \"replayer.h\"\n#include <stdint.h>\n\n"}
	all = slices.DeleteFunc(all, func(p prototype) bool { return !wrapped(&p) })
	names := make([]string, len(all))
	for i := range all {
		names[i] = strings.TrimPrefix(all[i].symbol(), "MPI_")
	}
	g.line("HIDDEN const char rp_functions[] = \"%s\";", strings.Join(names, "\\n\"\n\t\""))
	g.line("HIDDEN const unsigned rp_function_count = %d; /* and six that are written by hand */\n", len(names)+6)
	g.wrap(all, g.replayC, g.replayFortran)
	return g.sources(), nil
}

// replayC writes a function PMPI_x and its alias MPI_x.
func (g *generator) replayC(p *prototype, id int) {
	decl, args := p.parameters()
	l := logOf(p)
	g.line("int P%s(%s)\n{", p.symbol(), decl)
	g.line("\tstatic __typeof__(&P%s) real;\n\tint how = rp_enter(%d), rc;", p.symbol(), id)
	switch p.name {
	case "Comm_size":
		g.line("\tif (how == RP_HELPER) {\n\t\t*%s = (int)lg_size(%s);\n\t\treturn MPI_SUCCESS;\n\t}", p.params[1].name, p.params[0].name)
	case "Cartdim_get":
		g.line("\tif (how == RP_HELPER) {\n\t\t*%s = rp_comm_of(%s)->dims;\n\t\treturn MPI_SUCCESS;\n\t}", p.params[1].name, p.params[0].name)
	}
	g.line("\tif (how != RP_ANSWER) {\n\t\tif (!real)\n\t\t\treal = (__typeof__(real))cr_library(\"P%s\");", p.symbol())
	g.line("\t\trc = real(%s);\n\t\treturn how == RP_LOCAL ? rp_leave(rc) : rc;\n\t}", args)
	g.line("\trp_begin(%d);", id)
	if l.class == classCall {
		g.replayAnswer(p, l, id)
	} else { // rp_begin has refused it
		g.line("\trc = MPI_ERR_UNSUPPORTED_OPERATION;")
	}
	g.line("\treturn rp_leave(rc);\n}\nint %s(%s) __attribute__((alias(\"P%s\")));\n", p.symbol(), decl, p.symbol())
}

// replayAnswer writes the body of a function that is answered from the log: checks, memory for data, outputs.
func (g *generator) replayAnswer(p *prototype, l logged, id int) {
	var at, forms, room []string
	for _, q := range p.params {
		n, known := arrayLengths[q.name]
		if !q.array || !known || !p.has(n) {
			n = "1"
		}
		room = append(room, n)
		if q.pointer() {
			at = append(at, "(void *)(uintptr_t)"+q.name)
		} else {
			at = append(at, "(void *)&"+q.name)
		}
		forms = append(forms, q.form())
	}
	at, forms, room = append(at, "NULL"), append(forms, "FORM_NONE"), append(room, "0")
	g.line("\tconst int64_t room[] = {%s};", strings.Join(room, ", "))
	g.line("\tvoid *at[] = {%s};\n\tstatic const unsigned char forms[] = {%s};\n\tstruct data d = {0};", strings.Join(at, ", "), strings.Join(forms, ", "))
	g.line("\tstruct arguments a = {.function = %d, .n = %d, .at = at, .forms = forms, .room = room, .data = &d, .later = MPI_COMM_NULL};", id, len(p.params))
	name := strings.TrimSuffix(p.name, "_c")
	before, after := replaySpecial(p, name)
	for _, s := range before {
		g.line("\t%s", s)
	}
	for _, c := range l.checked() {
		g.line("\tif (rp_wants(CHECK_%s))\n\t\trp_check(CHECK_%s, (int64_t)(%s));", c[0], c[0], c[1])
	}
	if l.data != "" {
		g.line("\t%s", l.data)
	}
	if l.makes && p.prepares() {
		g.line("\ta.persistent = 1;")
	}
	if l.completes || l.data != "" && !l.makes || name == "Barrier" || name == "Probe" || name == "Mprobe" {
		g.line("\ta.waits = 1;")
	}
	if l.completes {
		g.replayCompletes(p, name)
	}
	g.line("\trc = rp_answer(&a);")
	if len(after) > 0 {
		g.line("\tif (rc == MPI_SUCCESS) {")
		for _, s := range after {
			g.line("\t\t%s", s)
		}
		g.line("\t}")
	}
}

// replayCompletes writes the assignments of the requests and statuses that a call completes.
func (g *generator) replayCompletes(p *prototype, name string) {
	q, length := p.request()
	if q.array {
		g.line("\ta.requests = %s;\n\ta.count = %s;", q.name, length)
	} else if strings.HasSuffix(q.ctype, "*") {
		g.line("\ta.requests = %s;", q.name)
	} else {
		g.line("\ta.requests = &%s;\n\ta.only_looks = 1;", q.name)
	}
	for _, q := range p.params {
		switch {
		case q.ctype == "MPI_Status" && q.array && !strings.HasSuffix(name, "some"):
			g.line("\ta.statuses = %s;\n\ta.status_count = %s;", q.name, length)
		case q.ctype == "MPI_Status*":
			g.line("\ta.statuses = %s;\n\ta.status_count = 1;", q.name)
		}
	}
}

// replaySpecial returns additional statements of a few functions: they free handles, or set the topology of a new communicator.
func replaySpecial(p *prototype, name string) (before, after []string) {
	last := ""
	if len(p.params) > 0 {
		last = p.params[len(p.params)-1].name
	}
	first := func(i int) string { return p.params[i].name }
	switch name {
	case "Comm_free", "Comm_disconnect":
		return []string{"MPI_Comm old = *comm;", "uint64_t old_comm = cr_comm(old);"}, []string{"rp_comm_free(&old);", "*comm = MPI_COMM_NULL;"}
	case "Request_free":
		return []string{"MPI_Request saved[1] = {*request};"}, []string{"rp_request_free(saved);", "*request = MPI_REQUEST_NULL;"}
	case "Mrecv", "Imrecv":
		return []string{"rp_message_free(message);"}, nil
	case "Comm_dup", "Comm_dup_with_info":
		return []string{"a.later = " + first(0) + ";"}, []string{fmt.Sprintf("rp_topology(%s, %s, 0, 0, 0);", last, first(0))}
	case "Comm_idup", "Comm_idup_with_info":
		return []string{"*newcomm = a.later = rp_comm_new(" + first(0) + ");"}, nil
	case "Cart_create":
		return nil, []string{fmt.Sprintf("rp_topology(%s, MPI_COMM_NULL, ndims, 2 * ndims, 2 * ndims);", last)}
	case "Cart_sub":
		return []string{fmt.Sprintf("int kept = rp_kept(rp_comm_of(comm)->dims, %s);", first(1))},
			[]string{fmt.Sprintf("rp_topology(%s, MPI_COMM_NULL, kept, 2 * kept, 2 * kept);", last)}
	case "Dist_graph_create_adjacent":
		return nil, []string{fmt.Sprintf("rp_topology(%s, MPI_COMM_NULL, 0, indegree, outdegree);", last)}
	case "Graph_create":
		return nil, []string{
			fmt.Sprintf("int here = lg_rank(*%s), n = *%s == MPI_COMM_NULL ? 0 : %s[here] - (here ? %s[here - 1] : 0);", last, last, first(2), first(2)),
			fmt.Sprintf("rp_topology(%s, MPI_COMM_NULL, 0, n, n);", last),
		}
	}
	return nil, nil
}

func (q param) pointer() bool { return q.array || strings.HasSuffix(q.ctype, "*") }

// form returns the constant for the type of an output parameter, FORM_NONE for an input.
func (q param) form() string {
	form, known := forms[strings.TrimSuffix(q.ctype, "*")]
	if !q.pointer() || q.constant() || !known {
		return "FORM_NONE"
	}
	return form
}

var forms = map[string]string{
	"int": "FORM_INT", "MPI_Count": "FORM_LONG", "MPI_Aint": "FORM_LONG", "MPI_Offset": "FORM_LONG", "MPI_Comm": "FORM_COMM", "MPI_Group": "FORM_GROUP",
	"MPI_Message": "FORM_MESSAGE", "MPI_Request": "FORM_REQUEST", "MPI_Status": "FORM_STATUS", "char": "FORM_TEXT",
}

// replayFortran writes the Fortran bindings, which call the library's own. Those call PMPI functions in C; rp_fortran marks that the
// program did not make these calls itself.
func (g *generator) replayFortran(p *prototype, id int) {
	names := p.fortranParameters()
	lower, args := strings.ToLower(p.symbol()), "void *"+strings.Join(names, ", void *")
	for _, symbol := range [...]string{lower + "_", lower + "_f08_", lower + "_f08ts_"} {
		g.line("void %s(%s)\n{\n\tstatic void (*real)(%s);\n\tif (!real)\n\t\treal = (void (*)(%s))cr_library(\"%s\");", symbol, args, args, args, symbol)
		g.line("\tunsigned before = rp_fortran(%d);\n\treal(%s);\n\trp_fortran_done(before);\n}", id, strings.Join(names, ", "))
	}
	g.otherNames(p, args)
}
