// Package program is what the processes of a simulated program do: a shared structure of calls, sequences and loops, and a
// root for each process. A call is one call of an MPI function as the trace knows it: its actions, the posts first.
//
//	Roots[process] -> Node{Seq, Loop} -> Children -> Node{Call} -> Actions
//
// A child's number is below its parent's, so there are no cycles. [Program.Check] tells whether all references lead
// somewhere; a program that passed it is only read. It takes 24 bytes a node, 40 an action, 4 a child and a process.
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

// Node is one node of the shared structure. A child's id is below its parent's.
type Node struct {
	Kind  NodeKind
	First uint32
	Len   uint32 // of a Call and a Seq; 1 for a Loop
	Count uint64 // of a Loop: iterations, at least 1
}

// ActionKind is what an action does.
type ActionKind uint8

// Kinds of actions. A call posts its posts in order, and then waits for all its completions at once: MPI_Send is PostSend
// and WaitSend, MPI_Sendrecv is PostRecv, PostSend, WaitRecv, WaitSend. A file operation counts as a post.
const (
	PostSend     ActionKind = iota // standard mode: eager up to the limit of the link, else rendezvous
	PostSync                       // synchronous mode: rendezvous at any size
	PostBuffered                   // buffered and ready mode: eager at any size
	PostRecv
	WaitSend  // completion of a send on the channel
	WaitRecv  // completion of a receive on the channel
	ProbeRecv // returns when the message that the next receive on the channel gets is there
	PostColl  // enters a collective operation
	WaitColl  // completion of the process's collective operation on the communicator
	FileIO    // transfers Bytes to or from the file system
)

// CallFlags say more about a call.
type CallFlags uint8

// Flags of an action.
const (
	// Blocking marks a post whose completion is in the same call, alone: MPI_Send, MPI_Recv, MPI_Barrier and the like, but
	// not the two halves of MPI_Sendrecv.
	Blocking CallFlags = 1 << iota
	// Varying marks a PostColl with counts of its own for each rank (MPI_Gatherv, MPI_Alltoallv, ...): no two ranks need know
	// the same sizes. Bytes and Recv are then means.
	Varying
	// Detached marks a post that nothing completes: completions on its channel do not count it among the open ones.
	Detached
	// Free marks a PostColl that takes no time: who completes it leaves when the last one has come.
	Free
)

// PeerMode says how an action's partner follows from the process's own rank in the communicator.
type PeerMode uint8

// Modes of a partner.
const (
	PeerAbsolute PeerMode = iota // Peer
	PeerRelative                 // (own rank + Peer) mod size
	PeerXor                      // own rank xor Peer
	// PeerTable is Program.Peers[Peer][process]: a rank in the communicator, for each process of the run. NoPeer makes
	// the action do nothing, as MPI_PROC_NULL.
	PeerTable
)

// NoPeer in a table of partners is not a partner.
const NoPeer = -1

// CollKind is a collective operation as the network sees it.
type CollKind uint8

// Collective operations. Variants with counts of their own (v, w) are the same kind with the bytes of the process.
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

// Action is one step of a call. Peer, tag and communicator name a channel: (communicator, source, destination, tag);
// the k-th send posted on it is what the k-th receive posted on it gets.
type Action struct {
	Kind  ActionKind
	Flags CallFlags
	Mode  PeerMode
	Coll  CollKind
	Comm  uint32 // index into Program.Comms
	Peer  int32  // by Mode; of a PostColl the root as a rank of the communicator, absolute
	Tag   uint32
	// Age is, for a completion, how many older posts of the same channel and direction (of the same communicator, for a
	// WaitColl) are still open: 0 completes the oldest. The actions of a call count one after the other: MPI_Waitall on the
	// two oldest receives has age 0 twice.
	Age   uint32
	Bytes uint64 // sent or received; of a PostColl what this process puts in, for one partner where it has one part for each
	// Recv is, of a PostColl, what the process gets, likewise.
	Recv uint64
}

// Comm is the group of a communicator: the processes of its ranks.
type Comm struct {
	Size    uint32
	Members []uint32 // process of each rank; nil for the identity
}

// Process returns the process of a rank.
func (c *Comm) Process(rank uint32) uint32 {
	if c.Members == nil {
		return rank
	}
	return c.Members[rank]
}

// Program is what all processes do. It is read-only while it runs.
type Program struct {
	Nodes    []Node
	Children []NodeID
	Actions  []Action
	Comms    []Comm
	Peers    [][]int32 // tables of partners
	Roots    []NodeID  // of each process
}

// Rooted tells whether one rank of a kind is special.
func (k CollKind) Rooted() bool { return k == Bcast || k == Reduce || k == Gather || k == Scatter }

// Spreads tells whether a kind goes from the root to the others.
func (k CollKind) Spreads() bool { return k == Bcast || k == Scatter }

// Dependence says whom a rank of a collective operation waits for under the closed forms.
type Dependence uint8

const (
	OnNobody Dependence = iota
	OnRoot
	OnAll
)

// DependsOn returns whose entry rank's leave depends on.
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

// Events returns what an action counts: an operation, and the message of a send.
func (k ActionKind) Events() uint64 {
	switch k {
	case PostSend, PostSync, PostBuffered:
		return 2
	case PostRecv, FileIO:
		return 1
	}
	return 0
}
