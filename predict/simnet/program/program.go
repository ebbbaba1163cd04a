// Package program is the program of a simulation: calls, sequences and loops, which processes share, and a root for each process. A call is
// one call of an MPI function in the trace; it consists of actions, posts first.
//
//	Roots[process] -> Node{Seq, Loop} -> Children -> Node{Call} -> Actions
//
// A child's id is less than its parent's, so there are no cycles. [Program.Check] checks all references. After it a program is only read.
// Memory: 24 bytes for each node, 40 for each action, 4 for each child and process.
package program

// NodeID is the index of a node in a Program.
type NodeID uint32

// NodeKind is the kind of a node of a program.
type NodeKind uint8

// Kinds of nodes.
const (
	Call NodeKind = iota // one MPI call: actions [First, First+Len) of Program.Actions, which no other node has
	Seq                  // children [First, First+Len) of Program.Children, in order
	Loop                 // the child Program.Children[First], Count times
)

// Node is a node of the shared structure. A child's id is less than its parent's.
type Node struct {
	Kind  NodeKind
	First uint32
	Len   uint32 // of a Call and a Seq; 1 for a Loop
	Count uint64 // of a Loop: iterations, at least 1
}

// ActionKind is what an action does.
type ActionKind uint8

// Kinds of actions. A call performs its posts in order, then waits for all its completions together: MPI_Send is PostSend and WaitSend,
// MPI_Sendrecv is PostRecv, PostSend, WaitRecv, WaitSend. A file operation is a post.
const (
	PostSend     ActionKind = iota // standard mode: eager up to the limit of the link, else rendezvous
	PostSync                       // synchronous mode: rendezvous at any size
	PostBuffered                   // buffered and ready mode: eager at any size
	PostRecv
	WaitSend  // completion of a send on the channel
	WaitRecv  // completion of a receive on the channel
	ProbeRecv // waits for the message that the next receive on the channel gets
	PostColl  // enters a collective operation
	WaitColl  // completion of the process's collective operation on the communicator
	FileIO    // transfers Bytes to or from the file system
)

// CallFlags are more properties of an action.
type CallFlags uint8

// Flags of an action.
const (
	// Blocking marks a post of a call that only completes this post: MPI_Send, MPI_Recv, MPI_Barrier and the like, but not the two posts of
	// MPI_Sendrecv.
	Blocking CallFlags = 1 << iota
	// Varying marks a PostColl with different counts for each rank (MPI_Gatherv, MPI_Alltoallv, ...), so ranks do not know a common size.
	// Bytes and Recv are means then.
	Varying
	// Detached marks a post that no action completes. Completions on its channel do not count it as open.
	Detached
	// Free marks what takes no time: a PostColl, which is complete when the last process has entered, or an eager message, which arrives
	// when it is sent. Its send and its receive are marked.
	Free
)

// PeerMode says how the partner of an action depends on the process's own rank in the communicator.
type PeerMode uint8

// Modes of a partner.
const (
	PeerAbsolute PeerMode = iota // Peer
	PeerRelative                 // (own rank + Peer) mod size
	PeerXor                      // own rank xor Peer
	// PeerTable is Program.Peers[Peer][process]: a rank in the communicator for each process of the run. With NoPeer the action does
	// nothing, as with MPI_PROC_NULL.
	PeerTable
)

// NoPeer means that there is no partner.
const NoPeer = -1

// CollKind is a kind of collective operation.
type CollKind uint8

// Collective operations. Variants with different counts (v, w) have the same kind, with the bytes of the process.
const (
	Barrier CollKind = iota
	Bcast
	Reduce
	Allreduce
	Gather
	Scatter
	Allgather
	Alltoall
	ReduceScatter
	Scan
	NumCollKinds
)

// Action is a post or a completion of a call. Peer, tag and communicator identify a channel: (communicator, source, destination, tag). The
// k-th send posted on it matches the k-th receive posted on it.
type Action struct {
	Kind  ActionKind
	Flags CallFlags
	Mode  PeerMode
	Coll  CollKind
	Comm  uint32 // index into Program.Comms
	Peer  int32  // depends on Mode; of a PostColl the root as rank of the communicator
	Tag   uint32
	// Age is, for a completion, how many older posts of the same channel and direction (for WaitColl: of the same communicator) are still
	// open: 0 completes the oldest. Actions of a call take effect one after the other: MPI_Waitall on the two oldest receives has age 0
	// twice.
	Age   uint32
	Bytes uint64 // sent or received; of a PostColl contributed by this process, for one partner if it has one part for each
	// Recv is, for a PostColl, what the process gets, in the same way.
	Recv uint64
}

// Comm is the group of a communicator.
type Comm struct {
	Size    uint32
	Members []uint32 // process of each rank; nil: rank = process
}

// Process returns the process of a rank.
func (c *Comm) Process(rank uint32) uint32 {
	if c.Members == nil {
		return rank
	}
	return c.Members[rank]
}

// Program is the program of all processes. It is read-only during a run.
type Program struct {
	Nodes    []Node
	Children []NodeID
	Actions  []Action
	Comms    []Comm
	Peers    [][]int32 // tables of partners
	Roots    []NodeID  // of each process
}

// Rooted reports whether an operation has a root.
func (k CollKind) Rooted() bool { return k == Bcast || k == Reduce || k == Gather || k == Scatter }

// Spreads reports whether data goes from the root to the others.
func (k CollKind) Spreads() bool { return k == Bcast || k == Scatter }

// Dependence says which ranks a rank of a collective operation waits for, in closed forms.
type Dependence uint8

const (
	OnNobody Dependence = iota
	OnRoot
	OnAll
)

// DependsOn returns whose entry a rank waits for.
func (k CollKind) DependsOn(isRoot bool) Dependence {
	switch {
	case !k.Rooted():
		return OnAll
	case k == Bcast || k == Scatter:
		if isRoot {
			return OnNobody
		}
		return OnRoot
	case isRoot:
		return OnAll
	}
	return OnNobody
}

// Events returns how many events an action counts as: an operation, and the message of a send.
func (k ActionKind) Events() uint64 {
	switch k {
	case PostSend, PostSync, PostBuffered:
		return 2
	case PostRecv, FileIO:
		return 1
	}
	return 0
}
