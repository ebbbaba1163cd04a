// Package simnet computes how long a message-passing program takes on a described
// network, from its operations and the computation between them. Nothing is
// executed: processes are clocks.
//
// What the processes do is a program (package program), each call of which has computation before it, one
// entry of the process's computation vector (a [Calc]), and one more after the last call. The machine is a
// network (package network). All times are integer picoseconds (int64, 106 days).
//
// # Dataflow engine
//
// [Dataflow] runs a process until it needs a time stamp that is not there. A
// channel is (communicator, source, destination, tag); its k-th send is what its
// k-th receive gets, so it is a ring of stamps and nothing is matched. Every clock
// is a composition of maxima and sums over stamps that their senders alone
// determine: results depend neither on the order in which processes run nor on the
// number of workers and ranks.
//
//   - An eager send costs the sender o, occupies its network interface for g and
//     G for each byte, and arrives L later. Larger messages go by rendezvous: a
//     request, the answer when the receive is posted, then the data.
//   - A call that completes several receives takes them in the order in which
//     they arrive. Under the policy DMA each costs the receiver o, under Copy also
//     G for each byte.
//   - Blocking collective operations are made of messages, by the algorithms of
//     the network. Non-blocking ones take their closed form, from the moment the
//     last of those entered whom a process waits for.
//   - A process stops only where MPI may block, until its partner has posted. So
//     the run stands still for ever exactly when the program would: [Deadlock].
//   - Posts without a partner are known before the run, from the number of posts
//     at both ends of a channel. They are left out and counted.
//
// Workers are goroutines and own adjoining processes. They run in rounds: each until none of its processes can go on, then
// stamps for processes of others change hands, also between ranks. When no worker of any rank has written one, the run is over, or all
// decide together how it goes on.
//
// # Event engine
//
// [Events] takes what happens in the order of time. It gives the times of the
// dataflow engine where both can run, and knows what needs that order:
//
//   - With contention, processes take interfaces, and messages links, one after
//     the other as they come. Data of rendezvous have a queue of their own at the
//     sender, in the order of the answers, and small messages overtake them.
//     Messages come into a node in the order of their arrival. A message waits
//     until all links of its way are free, and then keeps them for its bytes.
//   - Under the policy Arrival a processor takes messages when they are there,
//     whether their receive is posted or not. Posts without blocking in between
//     wait for their turn together, so computation may overtake a send that waits
//     for its interface. These are the rules of LogGOPSim, and so are the times.
//
// # Parts
//
// Both engines run the same code of a program (compile.go, kinds.go), move processes
// through it with cursors (place.go), join ports to channels (link.go), and
// perform collective operations by the schedules of the network or in meetings with
// closed forms (meeting.go). Deadlocks of both are described by the event engine
// (deadlock.go).
//
//   - A worker of the dataflow engine (flow.go) has channels, an ending for the call
//     that completes, collective operations by steps, and a mailbox for what goes to
//     other workers (channels.go, ending.go, steps.go, mail.go). A run (run.go) leads
//     the workers of a rank.
//   - The event engine (event.go) has processes whose messages are traffic on a
//     network (traffic.go); matching holds messages that are not complete
//     (matching.go), and an event queue says what happens next (queue.go).
package simnet
