package record

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/record.md")

// recordedAs says what the functions that a hook calls record, "" for those that only look at arguments.
var recordedAs = map[string]string{
	"cr_send": "a message: destination, tag, communicator, bytes", "cr_recv": "the message received: source, tag, communicator, bytes",
	"cr_isend": "a message begins: destination, tag, communicator, bytes, request", "cr_irecv": "a receive begins: request",
	"cr_isendrecv":  "a message and a receive begin: as `MPI_Isend` and `MPI_Irecv`",
	"cr_persistent": "what each start begins", "cr_persistent_coll": "what each start begins",
	"cr_partitioned": "", "cr_ready": "", "cr_ready_last": "of the last partitions: the message begins, as `MPI_Isend`",
	"cr_started": "what was prepared begins: a message, a receive, a collective, or messages with neighbours, with a new request",
	"cr_completed": "what each request that is done was: the end of a send; a message received, with source, tag, communicator, bytes; a collective, " +
		"with operation, communicator, root, bytes; messages with neighbours; a new communicator; an operation on a file, with the bytes moved",
	"cr_request_gone": "the end of a request in progress", "cr_cancel": "the request may end without a message",
	"cr_coll_begin": "", "cr_coll_end": "a collective: operation, communicator, root, bytes sent and received", "cr_icoll": "a collective begins: request",
	"cr_neighbours": "", "cr_near_begin": "", "cr_near_end": "a message to and from each neighbour: communicator, bytes; their tags are negative",
	"cr_near_later": "the same messages begin: requests",
	"cr_message":    "the communicator of the message that is matched", "cr_message_comm": "",
	"cr_comm_made": "the communicator: its members", "cr_comm_later": "the communicator begins, with the members of the old one: request",
	"cr_comm_gone": "the end of the communicator", "cr_comm_is": "", "cr_comm_named": "the name of the communicator",
	"cr_win_made": "the window, with a communicator of its members", "cr_win_gone": "", "cr_win_freeing": "a barrier of the window's members, unless it has the info `no_locks`", "cr_win_freed": "the end of the window", "cr_win_stays": "",
	"cr_rma": "an operation begins: window, target, bytes", "cr_rma_later": "an operation begins: window, target, bytes, request",
	"cr_fence_begin": "", "cr_fence_end": "a barrier of the window's members, where the fence is known to end an epoch (neither the first nor " +
		"`MPI_MODE_NOPRECEDE`); the end of all operations",
	"cr_rma_sync":    "a lock, its release or a synchronisation: window, target, shared or not; the end of operations with the target",
	"cr_epoch":       "a synchronisation with each process of the group: window, process",
	"cr_epoch_over":  "a synchronisation with each process of the group: window, process; the end of operations",
	"cr_clear_stack": "", "cr_file_opened": "the file and its handle: communicator, name, how it is opened", "cr_file_gone": "", "cr_file_stays": "",
	"cr_file_closed": "the end of the handle", "cr_file_deleted": "the file is deleted", "cr_file_view": "the unit of offsets",
	"cr_file_seek": "the position: where it is set to, in bytes; that of all processes where it is set from the beginning",
	"cr_io_begin":  "an operation begins: file, read, write or flush, collective or not, bytes, offset of the call in bytes",
	"cr_io_end":    "its end: bytes moved", "cr_io_later": "it ends with its request", "cr_io_split": "it ends with a call of its own", "cr_io_joined": "", "cr_io": "",
	"cr_taken": "", "cr_own": "", "cr_peers": "", "cr_bytes": "", "cr_at_root": "", "cr_rank": "", "cr_vector": "", "cr_types": "", "cr_in_place": "", "cr_type": "",
}

var hookCall = regexp.MustCompile(`\bcr_\w+`)

// recorded says what is recorded of a function besides its begin and end, "" for nothing.
func recorded(t *testing.T, p *prototype) string {
	var said []string
	h := hookOf(p)
	for _, f := range hookCall.FindAllString(strings.Join([]string{h.before, h.entered, h.after}, " "), -1) {
		text, known := recordedAs[f]
		if !known {
			t.Errorf("MPI_%s calls %s, of which the table says nothing", p.name, f)
		}
		if text != "" && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if p.prepares() && len(said) > 0 {
		return "what each start begins"
	}
	return strings.Join(said, "; ")
}

// tableOfCalls is the table of docs/record.md: the functions that have more than a begin and an end, in the order of the hooks'
// tables, those of which the same is recorded in one line.
func tableOfCalls(t *testing.T) string {
	request := param{ctype: "MPI_Request*", name: "request"}
	list := []prototype{}
	for _, name := range slices.Sorted(maps.Keys(pointToPoint)) {
		list = append(list, prototype{name: name, params: []param{{ctype: "int", name: "source"}}})
	}
	operations := append(slices.Sorted(maps.Keys(collectives)), slices.Sorted(maps.Keys(neighbourhoods))...)
	for _, form := range []func(string) prototype{
		func(name string) prototype { return prototype{name: name} },
		func(name string) prototype {
			return prototype{name: "I" + strings.ToLower(name[:1]) + name[1:], params: []param{request}}
		},
		func(name string) prototype { return prototype{name: name + "_init", params: []param{request}} },
	} {
		for _, name := range operations {
			list = append(list, form(name))
		}
	}
	for _, name := range [...]string{"Comm_idup", "Comm_idup_with_info", "Comm_free", "Comm_disconnect", "Comm_set_name"} {
		list = append(list, prototype{name: name, params: []param{request}})
	}
	for _, name := range append(agreed, "Intercomm_merge") {
		list = append(list, prototype{name: name, params: []param{{ctype: "MPI_Comm", name: "comm"}, {ctype: "MPI_Comm*", name: "newcomm"}}})
	}
	for _, name := range slices.Sorted(maps.Keys(oneSided)) {
		list = append(list, prototype{name: name})
	}
	for _, name := range [...]string{"Win_allocate", "Win_allocate_shared", "Win_create", "Win_create_dynamic"} {
		list = append(list, prototype{name: name, params: []param{{ctype: "MPI_Comm", name: "comm"}, {ctype: "MPI_Win*", name: "win"}}})
	}
	for _, name := range slices.Sorted(maps.Keys(onFiles)) {
		list = append(list, prototype{name: name})
	}
	for _, form := range strings.Fields("%s %s_at %s_shared %s_all %s_at_all %s_ordered i%s i%s_at i%s_shared i%s_all i%s_at_all " +
		"%s_all_begin %s_at_all_begin %s_ordered_begin %s_all_end %s_at_all_end %s_ordered_end") {
		for _, what := range [...]string{"read", "write"} {
			list = append(list, prototype{name: "File_" + strings.Replace(form, "%s", what, 1)})
		}
	}
	var order []string
	calls := map[string][]string{}
	for i := range list {
		what := recorded(t, &list[i])
		if what == "" {
			t.Errorf("of MPI_%s nothing is recorded", list[i].name)
		}
		if calls[what] == nil {
			order = append(order, what)
		}
		calls[what] = append(calls[what], "`"+list[i].name+"`")
	}
	var b strings.Builder
	b.WriteString("| call, without `MPI_` | recorded besides its begin and end |\n|---|---|\n")
	for _, what := range order {
		names := strings.Join(calls[what], ", ")
		if inits := strings.Count(names, "_init`"); inits == len(calls[what]) {
			names = "all that end in `_init`"
		} else if inits > 0 {
			t.Errorf("not all that end in _init record the same: %s", names)
		}
		if names == "`Intercomm_merge`" {
			names = "all others that make a communicator at once, such as `Comm_create_group`, `Intercomm_merge`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", names, what)
	}
	b.WriteString("| any other | nothing |\n")
	return b.String()
}

// TestCallsDocument compares docs/record.md with the tables that the wrappers are made from.
func TestCallsDocument(t *testing.T) {
	const path = "../docs/record.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^\| call, without (?:.*\n)(?:\|.*\n)*`)
	if n := len(table.FindAllIndex(text, -1)); n != 1 {
		t.Fatalf("%s has %d tables of calls, want 1", path, n)
	}
	want := table.ReplaceAllLiteral(text, []byte(tableOfCalls(t)))
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(want) != string(text) {
		t.Errorf("%s has another table than record/hooks.go; go test ./record -run CallsDocument -update", path)
	}
}
