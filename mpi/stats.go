package mpi

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Stats counts what one rank did, over its communicator and all communicators made from it. Messages are the
// point-to-point messages of the caller and of TreeReduce; the chunks of a long message count as one. Over MPI,
// collectives of more than 1 GiB in total, and gathers of at most 1 MiB, count as the messages they are made of, too.
// Collective bytes are payload: what the rank contributed, and what it was given by others.
type Stats struct {
	SentMessages, SentBytes         int64
	ReceivedMessages, ReceivedBytes int64
	Collectives                     int64
	CollectiveSent, CollectiveRecv  int64
	FileWrites, FileWriteBytes      int64
	FileReads, FileReadBytes        int64
	Levels                          []Level // traffic of TreeReduce by level of the tree, 0 first
}

// Level is the traffic of one rank at one level of TreeReduce.
type Level struct {
	SentMessages, SentBytes         int64
	ReceivedMessages, ReceivedBytes int64
}

// counters is the running form of Stats. Safe for concurrent use.
type counters struct {
	sentMsgs, sentBytes, recvMsgs, recvBytes atomic.Int64
	colls, collSent, collRecv                atomic.Int64
	writes, writeBytes, reads, readBytes     atomic.Int64

	mu     sync.Mutex
	levels []Level
}

func (s *counters) sent(n int)     { s.sentMsgs.Add(1); s.sentBytes.Add(int64(n)) }
func (s *counters) received(n int) { s.recvMsgs.Add(1); s.recvBytes.Add(int64(n)) }
func (s *counters) wrote(n int)    { s.writes.Add(1); s.writeBytes.Add(int64(n)) }
func (s *counters) read(n int)     { s.reads.Add(1); s.readBytes.Add(int64(n)) }

func (s *counters) collective(sent, recv int) {
	s.colls.Add(1)
	s.collSent.Add(int64(sent))
	s.collRecv.Add(int64(recv))
}

func (s *counters) level(k int, d Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.levels) <= k {
		s.levels = append(s.levels, Level{})
	}
	l := &s.levels[k]
	l.SentMessages += d.SentMessages
	l.SentBytes += d.SentBytes
	l.ReceivedMessages += d.ReceivedMessages
	l.ReceivedBytes += d.ReceivedBytes
}

func (s *counters) snapshot() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		SentMessages: s.sentMsgs.Load(), SentBytes: s.sentBytes.Load(),
		ReceivedMessages: s.recvMsgs.Load(), ReceivedBytes: s.recvBytes.Load(),
		Collectives: s.colls.Load(), CollectiveSent: s.collSent.Load(), CollectiveRecv: s.collRecv.Load(),
		FileWrites: s.writes.Load(), FileWriteBytes: s.writeBytes.Load(),
		FileReads: s.reads.Load(), FileReadBytes: s.readBytes.Load(),
		Levels: slices.Clone(s.levels),
	}
}

func totalLen(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}
