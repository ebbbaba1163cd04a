// Package simnet computes how long a message-passing program takes on a network, from its operations and the computation between them.
// Nothing is executed; each process has a clock.
//
// The operations are a program (package program). Each call has computation before it: one entry of the process's computation vector (a
// [Calc]). One more entry follows after the last call. The machine is a network (package network). All times are integer picoseconds
// (int64, up to 106 days).
//
// # Dataflow engine
//
// [Dataflow] runs a process until it needs a time stamp that is not known yet. A channel is (communicator, source, destination, tag). Its
// k-th send matches its k-th receive, so a channel is a ring of stamps, and there is no matching. Every clock is a composition of maxima
// and sums of stamps that only their senders determine. So results do not depend on the order in which processes run, nor on the number of
// workers and ranks.
//
//   - An eager send takes o of the sender's time, occupies its network interface for g plus G for each byte, and arrives L later. Larger
//     messages use rendezvous: a request, an answer when the receive is posted, then the data.
//   - A call that completes several receives takes them in the order of their arrival. With the policy DMA each takes o of the receiver's
//     time, with Copy also G for each byte.
//   - Blocking collectives consist of messages, by the algorithms of the network. Non-blocking ones take the time of their closed form,
//     after the last process that a process waits for has entered.
//   - A process stops only where MPI may block, until its partner has posted. So a run stops forever if and only if the program would:
//     [Deadlock].
//   - Posts without a partner are known before the run, from the number of posts at both ends of each channel. They are left out and
//     counted.
//
// Workers are goroutines, each with a contiguous range of processes. They run in rounds: each until none of its processes can continue;
// then stamps for processes of other workers are exchanged, also between ranks. If no worker of any rank has written one, all decide
// together whether the run has ended or how it goes on.
//
// # Event engine
//
// [Events] handles events in the order of time. It computes the same times as the dataflow engine where both can run. It also simulates
// what depends on that order:
//
//   - Contention: messages take network interfaces and links one after the other, in the order of time. Rendezvous data have their own
//     queue at the sender, in the order of the answers, and small messages overtake them. Messages enter a node in the order of arrival. A
//     message waits until all links of its route are free, and then occupies them for its bytes.
//   - The policy Arrival: a processor takes messages when they arrive, even if their receive is not posted. Consecutive non-blocking posts
//     wait for their turn together, so computation may overtake a send that waits for its interface. Rules and times are those of
//     LogGOPSim.
//
// # Parts
//
// Both engines run the same compiled program (compile.go, kinds.go), move processes through it with cursors (place.go), join ports to
// channels (link.go), and perform collectives by the schedules of the network (steps) or in meetings with closed forms (meeting.go). The
// event engine describes the deadlocks of both (deadlock.go).
//
//   - A worker of the dataflow engine (flow.go) has channels (channels.go), an ending for the call that completes (ending.go), collectives
//     by steps (steps.go), and a mailbox for other workers (mail.go). A run (run.go) controls the workers of a rank.
//   - The event engine (event.go) has processes and messages in progress (traffic.go). matching has the messages that are not complete
//     (matching.go), and an event queue gives the next event (queue.go).
package simnet
