package record

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hook is what the wrapper of a function does in addition to recording that the call begins and ends: C statements that use the parameter
// names of the MPI standard. A status that the program ignores is replaced by a real one. "saved" has the requests from before the call.
//
// Only the MPI library checks arguments, so a hook does not read those of a call that failed. before runs ahead of the call and may only
// copy handles. entered and after run after the call if the condition taken holds, failed if it does not, logged always. Events of entered
// have the time at which the call began.
type hook struct{ before, entered, after, failed, logged, taken string }

// succeeded is the condition of a hook that does not name one.
const succeeded = "rc == MPI_SUCCESS"

// completes is the condition of receives: a message that was longer than its buffer (MPI_ERR_TRUNCATE) was received too.
const completes = "cr_taken(rc, NULL)"

// withLog adds the statements that write the receive log.
func (h hook) withLog(p *prototype, id int) hook {
	h.logged = logHook(p, id)
	if h.taken == "" {
		h.taken = succeeded
	}
	return h
}

// hookOf returns the hook of a function. Most functions do not have one.
func hookOf(p *prototype) hook {
	name := strings.TrimSuffix(p.name, "_c")
	if h, ok := pointToPoint[name]; ok {
		if name == "Precv_init" && !p.has("source") { // MPICH's name
			h.after = strings.Replace(h.after, "source", "dest", 1)
		}
		return h
	}
	base, later := p.operation()
	if c, ok := collectives[base]; ok {
		return c.hook(p, later)
	}
	if n, ok := neighbourhoods[base]; ok {
		return n.hook(p, later)
	}
	if h, ok := oneSided[name]; ok {
		return h
	}
	if h, ok := onFiles[name]; ok {
		return h
	}
	if m := fileData.FindStringSubmatch(name); m != nil {
		return dataHook(m)
	}
	switch name {
	case "Comm_free", "Comm_disconnect":
		return hook{ // before: as soon as the call has freed the handle, another thread may get the same one
			before: "const uint64_t old_comm = cr_comm_gone(comm);",
			failed: "if (old_comm)\n\t\t\tcr_comm_is(*comm, old_comm);",
		}
	case "Comm_set_name":
		return hook{after: "cr_comm_named(comm);"}
	case "Comm_idup", "Comm_idup_with_info":
		return hook{after: "cr_comm_later(*request, comm, newcomm_at, from);"}
	case "Comm_get_parent":
		return hook{} // it returns the same communicator again
	}
	old := ""
	for _, q := range p.params {
		switch {
		case q.ctype == "MPI_Comm" && old == "":
			old = q.name
		case q.ctype == "MPI_Win*" && old != "":
			return agreement(old, "cr_win_made(*"+q.name+", "+old+");")
		case q.ctype == "MPI_Comm*" && !q.array && slices.Contains(agreed, name):
			return agreement(old, "cr_comm_made(*"+q.name+");")
		case q.ctype == "MPI_Comm*" && !q.array:
			return hook{after: "cr_comm_made(*" + q.name + ");"}
		}
	}
	return hook{}
}

// agreed are the functions that are collective over the old communicator. Others that make one involve a group of its members, or two
// groups.
var agreed = strings.Fields("Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_create Cart_create Cart_sub " +
	"Graph_create Dist_graph_create Dist_graph_create_adjacent")

// agreement is the hook of a function that makes a communicator or window and is collective over comm.
func agreement(comm, made string) hook {
	return hook{entered: "cr_coll_begin();", after: "cr_coll_end(CR_CREATE, " + comm + ", CR_NO_ROOT, 0, 0);\n\t\t" + made}
}

var pointToPoint = map[string]hook{
	"Send": send, "Bsend": send, "Ssend": send, "Rsend": send,
	"Recv":             {after: "cr_recv(comm, status);", taken: completes},
	"Sendrecv":         {entered: "cr_send(dest, sendtag, comm, sendcount, sendtype);", after: "cr_recv(comm, status);", taken: completes},
	"Sendrecv_replace": {entered: "cr_send(dest, sendtag, comm, count, datatype);", after: "cr_recv(comm, status);", taken: completes},
	"Mprobe":           {after: "cr_message(*message, comm);"},
	"Improbe":          {after: "if (*flag) cr_message(*message, comm);"},
	"Mrecv":            {before: messageBefore, after: "if (comm != MPI_COMM_NULL) cr_recv(comm, status);", failed: messageStays, taken: completes},
	"Imrecv":           {before: messageBefore, after: "if (comm != MPI_COMM_NULL) cr_irecv(*request, 0, comm);", failed: messageStays},
	"Isend":            immediate, "Ibsend": immediate, "Issend": immediate, "Irsend": immediate,
	"Irecv":     {after: "cr_irecv(*request, source, comm);"},
	"Send_init": persistent, "Bsend_init": persistent, "Ssend_init": persistent, "Rsend_init": persistent,
	"Recv_init":  {after: "cr_persistent(*request, RQ_RECV, source, tag, comm, count, datatype);"},
	"Start":      {after: "cr_started(*request);"},
	"Psend_init": {after: "cr_persistent(*request, RQ_SEND, dest, tag, comm, partitions * count, datatype); cr_partitioned(*request, partitions);"},
	"Precv_init": {after: "cr_persistent(*request, RQ_RECV, source, tag, comm, partitions * count, datatype);"},
	"Pready":     ready("1"), "Pready_range": ready("partition_high - partition_low + 1"), "Pready_list": ready("length"),
	"Isendrecv":         {after: "cr_isendrecv(*request, dest, sendtag, comm, cr_bytes(sendcount, sendtype), source, recvtag, cr_bytes(recvcount, recvtype));"},
	"Isendrecv_replace": {after: "cr_isendrecv(*request, dest, sendtag, comm, cr_bytes(count, datatype), source, recvtag, cr_bytes(count, datatype));"},
	"Startall":          {after: "for (int i = 0; i < count; i++) cr_started(array_of_requests[i]);"},
	"Wait":              {after: "cr_completed(*saved, status);", taken: completes},
	"Test":              {after: "if (*flag) cr_completed(*saved, status);", taken: completes},
	"Waitall":           {after: "for (int i = 0; i < count; i++) if (cr_taken(rc, &array_of_statuses[i])) cr_completed(saved[i], &array_of_statuses[i]);", taken: inStatus},
	"Testall":           {after: "for (int i = 0; i < count; i++) if (rc != MPI_SUCCESS ? cr_taken(rc, &array_of_statuses[i]) : *flag) cr_completed(saved[i], &array_of_statuses[i]);", taken: inStatus},
	"Waitany":           {after: "if (*index >= 0 && *index < count) cr_completed(saved[*index], status);", taken: completes},
	"Testany":           {after: "if (*flag && *index >= 0 && *index < count) cr_completed(saved[*index], status);", taken: completes},
	"Waitsome":          some,
	"Testsome":          some,
	"Request_free":      {after: "cr_request_gone(*saved);"},
	"Cancel":            {after: "cr_cancel(*request);"},
}

// inStatus is the condition of calls that complete several requests. If one of those failed, the statuses have their error codes.
const inStatus = "rc == MPI_SUCCESS || cr_in_status(rc)"

const (
	messageBefore = "MPI_Comm comm = cr_message_comm(message);"
	messageStays  = "if (comm != MPI_COMM_NULL)\n\t\t\tcr_message(*message, comm);"
)

var (
	send       = hook{entered: "cr_send(dest, tag, comm, count, datatype);"}
	immediate  = hook{after: "cr_isend(*request, dest, tag, comm, count, datatype);"}
	persistent = hook{after: "cr_persistent(*request, RQ_SEND, dest, tag, comm, count, datatype);"}
	some       = hook{after: "for (int i = 0; i < *outcount && i < incount; i++) if (cr_taken(rc, &array_of_statuses[i])) cr_completed(saved[array_of_indices[i] - from], &array_of_statuses[i]);", taken: inStatus}
)

// ready is the hook of MPI_Pready and the like, which mark partitions of a message as ready. They are counted before the call, because
// another thread may complete the message before the call returns.
func ready(partitions string) hook {
	return hook{
		before:  "uint64_t last[6] = {0};\n\tcr_ready(request, " + partitions + ", last);",
		entered: "cr_ready_last(last);",
		failed:  "cr_ready(request, -(" + partitions + "), last);",
	}
}

// collective describes an operation. sent and received are C expressions of a member's bytes, as Score-P counts them: what would move if
// every member sent directly to every other, itself included. With MPI_IN_PLACE in an all-to-all operation a member sends as much as it
// receives: with 0 bytes no other member would seem to wait for it.
type collective struct {
	operation      string // OTF2's OTF2_CollectiveOp
	root           bool
	sent, received string
}

// hook returns the hook of a function that does the operation at once, or starts or prepares it (later).
func (c *collective) hook(p *prototype, later bool) hook {
	root := "CR_NO_ROOT"
	if c.root {
		root = "root"
	}
	what := fmt.Sprintf("%s, comm, %s, %s, %s);", c.operation, root, c.sent, c.received)
	switch {
	case !later:
		return hook{entered: "cr_coll_begin();", after: "cr_coll_end(" + what}
	case p.prepares():
		return hook{after: "cr_persistent_coll(*request, " + what}
	}
	return hook{after: "cr_icoll(*request, " + what}
}

var collectives = map[string]*collective{
	"Barrier":              {"0", false, "0", "0"},
	"Bcast":                {"1", true, "cr_at_root(comm, root) * cr_peers(comm) * cr_bytes(count, datatype)", "root >= 0 ? cr_bytes(count, datatype) : 0"},
	"Gather":               {"2", true, "root >= 0 ? cr_own(sendbuf, sendcount, sendtype) : 0", "cr_at_root(comm, root) ? cr_peers(comm) * cr_bytes(recvcount, recvtype) : 0"},
	"Gatherv":              {"3", true, "root >= 0 ? cr_own(sendbuf, sendcount, sendtype) : 0", "cr_at_root(comm, root) ? cr_vector(comm, recvcounts, recvtype) : 0"},
	"Scatter":              {"4", true, "cr_at_root(comm, root) ? cr_peers(comm) * cr_bytes(sendcount, sendtype) : 0", "root >= 0 ? cr_own(recvbuf, recvcount, recvtype) : 0"},
	"Scatterv":             {"5", true, "cr_at_root(comm, root) ? cr_vector(comm, sendcounts, sendtype) : 0", "root >= 0 ? cr_own(recvbuf, recvcount, recvtype) : 0"},
	"Allgather":            {"6", false, "cr_peers(comm) * (cr_in_place(sendbuf) ? cr_bytes(recvcount, recvtype) : cr_bytes(sendcount, sendtype))", "cr_peers(comm) * cr_bytes(recvcount, recvtype)"},
	"Allgatherv":           {"7", false, "cr_peers(comm) * (cr_in_place(sendbuf) ? cr_bytes(recvcounts[cr_rank(comm)], recvtype) : cr_bytes(sendcount, sendtype))", "cr_vector(comm, recvcounts, recvtype)"},
	"Alltoall":             {"8", false, "cr_peers(comm) * (cr_in_place(sendbuf) ? cr_bytes(recvcount, recvtype) : cr_bytes(sendcount, sendtype))", "cr_peers(comm) * cr_bytes(recvcount, recvtype)"},
	"Alltoallv":            {"9", false, "cr_in_place(sendbuf) ? cr_vector(comm, recvcounts, recvtype) : cr_vector(comm, sendcounts, sendtype)", "cr_vector(comm, recvcounts, recvtype)"},
	"Alltoallw":            {"10", false, "cr_in_place(sendbuf) ? cr_types(comm, recvcounts, recvtypes) : cr_types(comm, sendcounts, sendtypes)", "cr_types(comm, recvcounts, recvtypes)"},
	"Allreduce":            {"11", false, "cr_peers(comm) * cr_bytes(count, datatype)", "cr_peers(comm) * cr_bytes(count, datatype)"},
	"Reduce":               {"12", true, "root >= 0 ? cr_bytes(count, datatype) : 0", "cr_at_root(comm, root) ? cr_peers(comm) * cr_bytes(count, datatype) : 0"},
	"Reduce_scatter":       {"13", false, "cr_vector(comm, recvcounts, datatype)", "cr_vector(comm, recvcounts, datatype)"},
	"Scan":                 {"14", false, "cr_bytes(count, datatype)", "cr_bytes(count, datatype)"},
	"Exscan":               {"15", false, "cr_bytes(count, datatype)", "cr_bytes(count, datatype)"},
	"Reduce_scatter_block": {"16", false, "cr_peers(comm) * cr_bytes(recvcount, datatype)", "cr_peers(comm) * cr_bytes(recvcount, datatype)"},
}

// neighbourhood is a collective on a topology, with the bytes to and from neighbour k. OTF2 does not have these operations, and a process
// waits for its neighbours only. So it is recorded as the messages to and from each neighbour, by which the MPI standard defines it.
type neighbourhood struct{ sent, received string }

func (n *neighbourhood) hook(p *prototype, later bool) hook {
	fill := fmt.Sprintf("near = cr_neighbours(comm);\n\t\tNEAR_BYTES(near, %s, %s);\n\t\t", n.sent, n.received)
	switch {
	case !later:
		return hook{before: "struct neighbours *near = NULL;", entered: fill + "cr_near_begin(near);", after: "cr_near_end(near);"}
	case p.prepares():
		return hook{after: "struct neighbours *" + fill + "cr_near_later(*request, RQ_PERSISTENT, near);"}
	}
	return hook{after: "struct neighbours *" + fill + "cr_near_later(*request, 0, near);"}
}

const (
	toEach   = "cr_bytes(sendcount, sendtype)"
	fromEach = "cr_bytes(recvcount, recvtype)"
	toOne    = "cr_bytes(sendcounts[k], sendtype)"
	fromOne  = "cr_bytes(recvcounts[k], recvtype)"
)

var neighbourhoods = map[string]*neighbourhood{
	"Neighbor_allgather":  {toEach, fromEach},
	"Neighbor_allgatherv": {toEach, fromOne},
	"Neighbor_alltoall":   {toEach, fromEach},
	"Neighbor_alltoallv":  {toOne, fromOne},
	"Neighbor_alltoallw":  {"cr_bytes(sendcounts[k], cr_type(sendtypes[k]))", "cr_bytes(recvcounts[k], cr_type(recvtypes[k]))"},
}

const (
	originBytes = "cr_bytes(origin_count, origin_datatype)"
	resultBytes = "cr_bytes(result_count, result_datatype)"
	oneBytes    = "cr_bytes(1, datatype)"
)

// rma is the hook of a one-sided operation. It begins when it is called and is complete after the next synchronisation of its window.
func rma(what, sent, received string) hook {
	return hook{entered: fmt.Sprintf("cr_rma(%s, win, target_rank, %s, %s);", what, sent, received)}
}

func rmaRequest(what, sent, received string) hook {
	return hook{after: fmt.Sprintf("cr_rma_later(*request, %s, win, target_rank, %s, %s);", what, sent, received)}
}

// oneSided are the hooks of one-sided operations and of window synchronisation.
var oneSided = map[string]hook{
	"Win_free": {
		before: "struct window *const old_win = cr_win_gone(win);", entered: "cr_win_freeing(old_win);", after: "cr_win_freed(old_win);", failed: "cr_win_stays(old_win);",
	},
	"Put":              rma("RMA_PUT", originBytes, "0"),
	"Get":              rma("RMA_GET", originBytes, "0"),
	"Accumulate":       rma("RMA_ACCUMULATE", originBytes, "0"),
	"Get_accumulate":   rma("RMA_FETCH", originBytes, resultBytes),
	"Fetch_and_op":     rma("RMA_FETCH", oneBytes, oneBytes),
	"Compare_and_swap": rma("RMA_SWAP", oneBytes, oneBytes),
	"Rput":             rmaRequest("RMA_PUT", originBytes, "0"),
	"Rget":             rmaRequest("RMA_GET", originBytes, "0"),
	"Raccumulate":      rmaRequest("RMA_ACCUMULATE", originBytes, "0"),
	"Rget_accumulate":  rmaRequest("RMA_FETCH", originBytes, resultBytes),
	"Win_fence":        {entered: "cr_fence_begin(assert, win);", after: "cr_fence_end(assert, win);"},
	"Win_lock":         {after: "cr_rma_sync(lock_type == MPI_LOCK_SHARED ? RMA_SHARED : RMA_ACQUIRE, win, rank, 0);"},
	"Win_lock_all":     {after: "cr_rma_sync(RMA_SHARED, win, CR_ALL, 0);"},
	"Win_unlock":       {after: "cr_rma_sync(RMA_RELEASE, win, rank, 1);"},
	"Win_unlock_all":   {after: "cr_rma_sync(RMA_RELEASE, win, CR_ALL, 1);"},
	"Win_flush":        {after: "cr_rma_sync(RMA_SYNC, win, rank, 1);"}, "Win_flush_local": {after: "cr_rma_sync(RMA_SYNC, win, rank, 1);"},
	"Win_flush_all": {after: "cr_rma_sync(RMA_SYNC, win, CR_ALL, 1);"}, "Win_flush_local_all": {after: "cr_rma_sync(RMA_SYNC, win, CR_ALL, 1);"},
	"Win_start":    {after: "cr_epoch(RMA_NOTIFIED, win, EPOCH_ACCESS, group);"},
	"Win_complete": {after: "cr_epoch_over(RMA_NOTIFIES, win, EPOCH_ACCESS);"},
	"Win_post":     {after: "cr_epoch(RMA_NOTIFIES, win, EPOCH_EXPOSURE, group);"},
	"Win_wait":     {after: "cr_epoch_over(RMA_NOTIFIED, win, EPOCH_EXPOSURE);"},
	"Win_test":     {after: "if (*flag) cr_epoch_over(RMA_NOTIFIED, win, EPOCH_EXPOSURE);"},
}

// onFiles are the hooks of file functions that do not transfer data.
var onFiles = map[string]hook{
	"File_open": {before: "cr_clear_stack();", after: "cr_file_opened(comm, filename, filename_length, amode, *fh);"},
	"File_close": {
		before: "struct file *const old_file = cr_file_gone(fh);", after: "cr_file_closed(old_file);",
		failed: "cr_file_stays(*fh, old_file);",
	},
	"File_delete":      {after: "cr_file_deleted(filename, filename_length);"},
	"File_set_view":    {after: "cr_file_view(fh, etype); cr_file_seek(fh, 0, MPI_SEEK_SET, 0);"},
	"File_seek":        {after: "cr_file_seek(fh, offset, whence, 0);"},
	"File_seek_shared": {after: "cr_file_seek(fh, offset, whence, 1);"},
	"File_sync":        blockingIO("FILE_FLUSH | FILE_COLLECTIVE", "-1", "0", "NULL"),
}

// fileData matches the names of functions that read or write a file.
var fileData = regexp.MustCompile(`^File_(i?)(read|write)(_at)?(_all|_shared|_ordered)?(_begin|_end)?$`)

// blockingIO is the hook of a file operation that is complete when its call returns.
func blockingIO(what, offset, bytes, status string) hook {
	return hook{
		before:  "struct cr_io io = {0};",
		entered: fmt.Sprintf("io = cr_io_begin(fh, %s, %s, %s);", what, offset, bytes),
		after:   fmt.Sprintf("cr_io_end(io, %s);", status),
	}
}

// dataHook returns the hook of a function that reads or writes; name has the matches of fileData.
func dataHook(name []string) hook {
	if name[5] == "_end" {
		return hook{after: "cr_io_end(cr_io_joined(fh), status);"}
	}
	what, offset := "0", "-1"
	if name[2] == "write" {
		what = "FILE_WRITE"
	}
	if name[3] != "" {
		offset = "offset"
	}
	if name[4] == "_all" || name[4] == "_ordered" {
		what += " | FILE_COLLECTIVE"
	}
	if name[1] != "" || name[5] != "" {
		what += " | FILE_NONBLOCKING"
	}
	h := blockingIO(what, offset, "cr_bytes(count, datatype)", "status")
	switch {
	case name[1] != "":
		h.after = "cr_io_later(*request, io);"
	case name[5] != "":
		h.after = "cr_io_split(fh, io);"
	}
	return h
}
