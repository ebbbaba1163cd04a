package record

import (
	"slices"
	"strings"
)

// logged describes what the receive log has of a call, as C expressions over parameter names; docs/format/log.md gives the meanings. The
// replay is generated from the same tables.
type logged struct {
	class                   byte // classCall, classLocal or classRefused
	peer, tag, bytes, comm  string
	peer2, tag2, request    string
	data, buffer            string // data: statements that add the pieces of received data to d; buffer: the parameter that receives them
	completes, makes, later bool   // the call completes requests; makes a request; its data arrive when the request completes
}

const (
	classCall    = 'C'
	classLocal   = 'L'
	classRefused = 'X'
)

// localPrefixes begin the names of functions that do not need other processes. They are not logged: in a replay the MPI library executes
// them.
var localPrefixes = [...]string{
	"Type_", "Pack", "Unpack", "Op_", "Info_", "Status_", "Get_count", "Get_elements", "Get_address", "Get_version",
	"Get_library_version", "Address", "Aint_", "Error_", "Errhandler_", "Add_error_", "Remove_error_", "Alloc_mem", "Free_mem", "Buffer_", "Keyval_",
	"Attr_", "Comm_create_keyval", "Comm_free_keyval", "Comm_get_attr", "Comm_set_attr", "Comm_delete_attr", "Comm_get_name",
	"Comm_set_name", "Comm_get_info", "Comm_set_info", "Comm_create_errhandler", "Comm_get_errhandler", "Comm_set_errhandler",
	"Comm_call_errhandler", "Dims_create", "Reduce_local", "Test_cancelled", "Initialized", "Finalized", "Query_thread",
	"Is_thread_main", "Pcontrol", "Wtick",
}

// refusedPrefixes begin the names of functions whose effects are not in their arguments, such as one-sided communication. A replay stops
// there.
var refusedPrefixes = [...]string{
	"Win_", "File_", "Put", "Get", "Accumulate", "Rput", "Rget", "Raccumulate", "Fetch_and_op", "Compare_and_swap", "Grequest_",
	"Psend_init", "Precv_init", "Pready", "Parrived", "Comm_spawn", "Session_", "Isendrecv", "Register_datarep",
}

func hasPrefix(name string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(name, s) })
}

// logOf returns what is logged of a function. A function with outputs of unknown form is classRefused.
func logOf(p *prototype) logged {
	name := strings.TrimSuffix(p.name, "_c")
	switch {
	case name == "Get_processor_name":
		return logged{class: classCall}
	case hasPrefix(name, localPrefixes[:]):
		return logged{class: classLocal}
	case hasPrefix(name, refusedPrefixes[:]):
		return logged{class: classRefused}
	}
	l, ok := loggedMessages[name]
	if !ok {
		base, later := p.operation()
		if l, ok = loggedCollectives[base]; ok {
			l.makes, l.later = later, later
		}
	}
	l.class = classCall
	if l.comm == "" {
		l.comm = p.communicator(name)
	}
	if !ok && !p.understood() {
		return logged{class: classRefused}
	}
	return l
}

// communicator returns the C expression of the communicator that a function is called on, "" if it is not called on one.
func (p *prototype) communicator(name string) string {
	if name == "Comm_free" || name == "Comm_disconnect" {
		return "old_comm"
	}
	for _, q := range p.params {
		if q.ctype == "MPI_Comm" && !q.array {
			return "cr_comm(" + q.name + ")"
		}
	}
	return ""
}

// understood reports whether outputOf knows all outputs of a function.
func (p *prototype) understood() bool {
	return !slices.ContainsFunc(p.params, func(q param) bool {
		return q.pointer() && !q.constant() && outputOf(q) == "" && q.name != "ranges" && q.ctype != "MPI_Request*"
	})
}

func (q param) constant() bool { return strings.HasPrefix(q.text, "const ") }

const (
	sent    = "cr_bytes(count, datatype)"
	posted  = "lg_piece(&d, buf, count, datatype);"
	several = "count"
)

var (
	loggedSend  = logged{peer: "dest", tag: "tag", bytes: sent}
	loggedISend = logged{peer: "dest", tag: "tag", bytes: sent, makes: true}
)

// loggedMessages are point-to-point functions and those on requests.
var loggedMessages = map[string]logged{
	"Send": loggedSend, "Bsend": loggedSend, "Ssend": loggedSend, "Rsend": loggedSend,
	"Isend": loggedISend, "Ibsend": loggedISend, "Issend": loggedISend, "Irsend": loggedISend,
	"Send_init": loggedISend, "Bsend_init": loggedISend, "Ssend_init": loggedISend, "Rsend_init": loggedISend,
	"Recv":      {peer: "source", tag: "tag", bytes: sent, data: posted, buffer: "buf"},
	"Irecv":     {peer: "source", tag: "tag", bytes: sent, data: posted, buffer: "buf", makes: true, later: true},
	"Recv_init": {peer: "source", tag: "tag", bytes: sent, data: posted, buffer: "buf", makes: true, later: true},
	"Sendrecv": {
		peer: "dest", tag: "sendtag", bytes: "cr_bytes(sendcount, sendtype)", peer2: "source", tag2: "recvtag",
		data: "lg_piece(&d, recvbuf, recvcount, recvtype);", buffer: "recvbuf",
	},
	"Sendrecv_replace": {
		peer: "dest", tag: "sendtag", bytes: sent, peer2: "source", tag2: "recvtag",
		data: posted, buffer: "buf",
	},
	"Probe": {peer: "source", tag: "tag"}, "Iprobe": {peer: "source", tag: "tag"},
	"Mprobe": {peer: "source", tag: "tag"}, "Improbe": {peer: "source", tag: "tag"},
	"Mrecv":  {bytes: sent, data: posted, buffer: "buf"},
	"Imrecv": {bytes: sent, data: posted, buffer: "buf", makes: true, later: true},
	"Wait":   {completes: true}, "Test": {completes: true}, "Request_get_status": {completes: true},
	"Waitall": {completes: true, request: several}, "Testall": {completes: true, request: several},
	"Waitany": {completes: true, request: several}, "Testany": {completes: true, request: several},
	"Waitsome": {completes: true, request: "incount"}, "Testsome": {completes: true, request: "incount"},
	"Start": {request: "lg_number(*request)"}, "Cancel": {request: "lg_number(*request)"},
	"Startall":     {request: several},
	"Request_free": {request: "lg_number(*saved)"},
	"Comm_idup":    {makes: true, later: true}, "Comm_idup_with_info": {makes: true, later: true},
}

const (
	ownSend   = "cr_own(sendbuf, sendcount, sendtype)"
	ownRooted = "root < 0 ? 0 : cr_own(sendbuf, sendcount, sendtype)"
	reduced   = "lg_piece(&d, recvbuf, count, datatype);"
)

func vectorOf(n, displs string) string {
	return "lg_vector(&d, " + n + ", recvbuf, recvcounts, sizeof recvcounts[0], " + displs + ", sizeof " + displs + "[0], recvtype);"
}

func typesOf(n string) string {
	return "lg_types(&d, " + n + ", recvbuf, recvcounts, sizeof recvcounts[0], rdispls, sizeof rdispls[0], recvtypes);"
}

func sumOf(n string) string {
	return "cr_in_place(sendbuf) ? 0 : lg_sum(" + n + ", sendcounts, sizeof sendcounts[0], sendtype)"
}

func sumOfTypes(n string) string {
	return "cr_in_place(sendbuf) ? 0 : lg_sum_types(" + n + ", sendcounts, sizeof sendcounts[0], sendtypes)"
}

const (
	peers = "cr_peers(comm)"
	in    = "lg_degree(comm, 0)"
	out   = "lg_degree(comm, 1)"
)

func each(n string) string {
	return "lg_piece(&d, recvbuf, (MPI_Count)recvcount * (MPI_Count)" + n + ", recvtype);"
}

var loggedCollectives = map[string]logged{
	"Barrier":              {},
	"Bcast":                {peer: "root", bytes: sent, data: "if (!lg_root(comm, root) && root != MPI_PROC_NULL) lg_piece(&d, buffer, count, datatype);", buffer: "buffer"},
	"Gather":               {peer: "root", bytes: ownRooted, data: "if (lg_root(comm, root)) " + each(peers), buffer: "recvbuf"},
	"Gatherv":              {peer: "root", bytes: ownRooted, data: "if (lg_root(comm, root)) " + vectorOf(peers, "displs"), buffer: "recvbuf"},
	"Scatter":              {peer: "root", bytes: "lg_root(comm, root) ? cr_bytes(sendcount, sendtype) : 0", data: "if (root >= 0 && !cr_in_place(recvbuf)) lg_piece(&d, recvbuf, recvcount, recvtype);", buffer: "recvbuf"},
	"Scatterv":             {peer: "root", bytes: "lg_root(comm, root) ? lg_sum(" + peers + ", sendcounts, sizeof sendcounts[0], sendtype) : 0", data: "if (root >= 0 && !cr_in_place(recvbuf)) lg_piece(&d, recvbuf, recvcount, recvtype);", buffer: "recvbuf"},
	"Allgather":            {bytes: ownSend, data: each(peers), buffer: "recvbuf"},
	"Allgatherv":           {bytes: ownSend, data: vectorOf(peers, "displs"), buffer: "recvbuf"},
	"Alltoall":             {bytes: ownSend, data: each(peers), buffer: "recvbuf"},
	"Alltoallv":            {bytes: sumOf(peers), data: vectorOf(peers, "rdispls"), buffer: "recvbuf"},
	"Alltoallw":            {bytes: sumOfTypes(peers), data: typesOf(peers), buffer: "recvbuf"},
	"Allreduce":            {bytes: sent, data: reduced, buffer: "recvbuf"},
	"Reduce":               {peer: "root", bytes: sent, data: "if (lg_root(comm, root)) " + reduced, buffer: "recvbuf"},
	"Scan":                 {bytes: sent, data: reduced, buffer: "recvbuf"},
	"Exscan":               {bytes: sent, data: "if (!lg_root(comm, 0)) " + reduced, buffer: "recvbuf"},
	"Reduce_scatter":       {bytes: "lg_sum(lg_size(comm), recvcounts, sizeof recvcounts[0], datatype)", data: "lg_piece(&d, recvbuf, recvcounts[lg_rank(comm)], datatype);", buffer: "recvbuf"},
	"Reduce_scatter_block": {bytes: "cr_bytes(recvcount, datatype)", data: "lg_piece(&d, recvbuf, recvcount, datatype);", buffer: "recvbuf"},
	"Neighbor_allgather":   {bytes: ownSend, data: each(in), buffer: "recvbuf"},
	"Neighbor_allgatherv":  {bytes: ownSend, data: vectorOf(in, "displs"), buffer: "recvbuf"},
	"Neighbor_alltoall":    {bytes: ownSend, data: each(in), buffer: "recvbuf"},
	"Neighbor_alltoallv":   {bytes: sumOf(out), data: vectorOf(in, "rdispls"), buffer: "recvbuf"},
	"Neighbor_alltoallw":   {bytes: sumOfTypes(out), data: typesOf(in), buffer: "recvbuf"},
}
