package record

import (
	"fmt"
	"slices"
	"strings"
)

// outputOf returns a format of the C statement that logs an output parameter; %d is for the parameter's index. It is "" for an input and
// for an output of unknown form.
func outputOf(q param) string {
	if q.constant() {
		return ""
	}
	length, known := arrayLengths[q.name]
	switch {
	case q.ctype == "int" && q.array && known:
		return "lg_ints(%d, " + q.name + ", " + length + ");"
	case q.array:
		return ""
	case q.ctype == "int*" && logicals[q.name]: // Fortran's true is any number but 0
		return "lg_int(%d, *" + q.name + " != 0);"
	case q.ctype == "int*" && q.name == "index":
		return "lg_int(%d, *index < 0 ? MPI_UNDEFINED : *index);"
	case q.ctype == "int*", q.ctype == "MPI_Count*", q.ctype == "MPI_Aint*":
		return "lg_int(%d, *" + q.name + ");"
	case q.ctype == "MPI_Comm*":
		return "lg_comm(%d, *" + q.name + ");"
	case q.ctype == "MPI_Group*":
		return "lg_group(%d, *" + q.name + ");"
	case q.ctype == "MPI_Message*":
		return "lg_message(%d, *" + q.name + ");"
	case q.ctype == "MPI_Status*":
		return "lg_status(%d, 0, status);"
	case q.ctype == "char*" && q.name == "name":
		return "lg_text(%d, name, *resultlen);"
	}
	return ""
}

var logicals = map[string]bool{"flag": true, "weighted": true}

// arrayLengths has, for the name of an output array, the parameter with its length.
var arrayLengths = map[string]string{
	"dims": "maxdims", "periods": "maxdims", "coords": "maxdims", "index": "maxindex", "edges": "maxedges",
	"neighbors": "maxneighbors", "sources": "maxindegree", "sourceweights": "maxindegree", "destinations": "maxoutdegree",
	"destweights": "maxoutdegree", "ranks2": "n",
}

// logHook returns the statements that log a call; rc is what it returned. Of a call that failed only rc is logged.
func logHook(p *prototype, id int) string {
	l := logOf(p)
	if l.class == classLocal {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "if (lg_on && lg_call(%d, rc)) {\n\t\t", id)
	if checks := l.checks(); l.class == classRefused {
		b.WriteString("lg_checks(0, NULL);")
	} else {
		fmt.Fprintf(&b, "if (%s) {\n\t\t\t%s\n\t\t\t%s\n\t\t} else\n\t\t\tlg_checks(0, NULL);", succeeded, checks, l.outputs(p))
	}
	b.WriteString("\n\t\tlg_end();\n\t}")
	return b.String()
}

// checked returns the names and expressions of the values that a replay compares with those of the log.
func (l logged) checked() [][2]string {
	list := [][2]string{{"PEER", l.peer}, {"TAG", l.tag}, {"BYTES", l.bytes}, {"COMM", l.comm}, {"PEER2", l.peer2}, {"TAG2", l.tag2}, {"REQUEST", l.request}}
	return slices.DeleteFunc(list, func(c [2]string) bool { return c[1] == "" })
}

func (l logged) checks() string {
	var bits, values []string
	for _, c := range l.checked() {
		bits, values = append(bits, "LG_"+c[0]), append(values, "(int64_t)("+c[1]+")")
	}
	if len(bits) == 0 {
		return "lg_checks(0, NULL);"
	}
	return fmt.Sprintf("lg_checks(%s, (const int64_t[]){%s});", strings.Join(bits, " | "), strings.Join(values, ", "))
}

// outputs returns the statements that log the outputs of a successful call.
func (l logged) outputs(p *prototype) string {
	name := strings.TrimSuffix(p.name, "_c")
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	found := "" // condition under which there is a message or a status
	if name == "Iprobe" || name == "Improbe" {
		found = "if (*flag) "
	}
	for i, q := range p.params {
		out := outputOf(q)
		switch {
		case out == "", l.comm == "old_comm", name == "Group_free", l.later && q.ctype == "MPI_Comm*":
		case l.completes && q.ctype == "MPI_Status*", (name == "Mrecv" || name == "Imrecv") && q.ctype == "MPI_Message*":
		case q.ctype == "MPI_Status*", q.ctype == "MPI_Message*":
			add("%s"+out, found, i)
		default:
			add(out, i)
		}
	}
	switch {
	case l.makes:
		add("%s", l.request1(p, name))
	case l.data != "" && p.has("status"):
		add("struct lg_data d = {0};\n\t\t\t%s\n\t\t\tlg_data(%d, &d, lg_received(status));", l.data, p.number(l.buffer))
	case l.data != "":
		add("struct lg_data d = {0};\n\t\t\t%s\n\t\t\tlg_data(%d, &d, -1);", l.data, p.number(l.buffer))
	case l.completes:
		add("%s", completed(p, name))
	case name == "Start":
		add("lg_started(*request);")
	case name == "Startall":
		add("for (int i = 0; i < count; i++)\n\t\t\t\tlg_started(array_of_requests[i]);")
	case name == "Request_free":
		add("lg_freed(*saved);")
	}
	return strings.Join(list, "\n\t\t\t")
}

// request1 returns the statements that log the request that a call makes.
func (l logged) request1(p *prototype, name string) string {
	at := p.number("request")
	if strings.HasPrefix(name, "Comm_idup") {
		return fmt.Sprintf("lg_request_comm(%d, *request, newcomm_at, from, %d);", at, p.number("newcomm"))
	}
	kind := "0"
	if strings.HasSuffix(name, "_init") {
		kind = "LG_PERSISTENT"
	}
	if l.later && p.has("source") || name == "Imrecv" {
		kind += " | LG_DATA"
	} else if l.later {
		kind += " | LG_DATA | LG_COLLECTIVE"
	}
	return fmt.Sprintf("struct lg_data d = {0};\n\t\t\t%s\n\t\t\tlg_request(%d, *request, %s, &d, %d);", l.data, at, kind, max(p.number(l.buffer), 0))
}

// completed returns the statements that log the requests that a call completes.
func completed(p *prototype, name string) string {
	at := max(p.number("request"), p.number("array_of_requests"))
	status := max(p.number("status"), p.number("array_of_statuses"))
	done := func(index, from string) string {
		return fmt.Sprintf("lg_done(%d, %s, saved[%s], %d, %s);", at, index, index, status, from)
	}
	switch name {
	case "Wait":
		return fmt.Sprintf("lg_done(%d, 0, *saved, %d, status);", at, status)
	case "Test":
		return fmt.Sprintf("if (*flag)\n\t\t\t\tlg_done(%d, 0, *saved, %d, status);", at, status)
	case "Request_get_status":
		return fmt.Sprintf("if (*flag)\n\t\t\t\tlg_looked(%d, request, %d, status);", at, status)
	case "Waitall":
		return "for (int i = 0; i < count; i++)\n\t\t\t\t" + done("i", "&array_of_statuses[i]")
	case "Testall":
		return "for (int i = 0; *flag && i < count; i++)\n\t\t\t\t" + done("i", "&array_of_statuses[i]")
	case "Waitany":
		return "if (*index >= 0 && *index < count)\n\t\t\t\t" + done("*index", "status")
	case "Testany":
		return "if (*flag && *index >= 0 && *index < count)\n\t\t\t\t" + done("*index", "status")
	}
	return "for (int i = 0; i < *outcount && i < incount; i++)\n\t\t\t\t" + done("array_of_indices[i] - from", "&array_of_statuses[i]")
}
