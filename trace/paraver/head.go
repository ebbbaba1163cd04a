package paraver

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// head is what is before the first record: the header and the communicators.
type head struct {
	*header
	comms    []communicator
	byID     map[commID]int // index in comms
	problems trace.Diagnostics
}

// commID names a communicator in records; ids count within an application.
type commID struct {
	app uint32
	id  uint64
}

// communicator is a list of tasks by rank, or joins two of them.
type communicator struct {
	commID
	members []uint32 // tasks, indices in header.tasks
	a, b    int      // of an inter-communicator: indices of its halves
	inter   bool
}

// parseHead reads the lines before the first record.
func parseHead(text []byte, size uint64) (*head, error) {
	h := &head{byID: make(map[commID]int)}
	number := uint64(0)
	var others []otherLine
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		number++
		if number == 1 {
			var err error
			if h.header, err = parseHeader(line, size); err != nil {
				return nil, err
			}
			continue
		}
		if !bytes.HasPrefix(line, []byte("c:")) && !bytes.HasPrefix(line, []byte("i:")) {
			continue // a comment
		}
		if bytes.HasSuffix(line, []byte(":1:-1")) && bytes.Count(line, []byte(":")) == 4 {
			continue // MPI_COMM_SELF, of each task itself: so traces of 2004 have it
		}
		c, wrong := h.parseComm(line)
		if i, known := h.byID[c.commID]; wrong == "" && known {
			if h.comms[i].same(&c) {
				continue // repeated: nothing new
			}
			wrong = "a communicator that is there already"
		}
		switch {
		case wrong == badTask:
			others = append(others, otherLine{line, number, c.id})
		case wrong != "":
			h.damaged(number, wrong)
		default:
			h.byID[c.commID] = len(h.comms)
			h.comms = append(h.comms, c)
		}
	}
	if len(others) > 0 {
		h.others(others)
	}
	if h.header == nil {
		return nil, fmt.Errorf("paraver: an empty file: %w", trace.ErrNotTrace)
	}
	return h, nil
}

// badTask says that a communicator has more tasks than its application. It is not a fault where the
// communicator is a repetition of another application's.
const badTask = "a task that the header does not have"

// otherLine is a line that may be the communicator of another application. Extrae
// writes the communicators of all applications after each other for each of them,
// with the same ids.
type otherLine struct {
	text   []byte
	number uint64
	id     uint64
}

// others reports the lines that are not a repetition of another application's communicator.
func (h *head) others(list []otherLine) {
	first := make(map[uint64]int) // communicator of each id
	for i := range h.comms {
		if _, known := first[h.comms[i].id]; !known {
			first[h.comms[i].id] = i
		}
	}
	for _, o := range list {
		i, known := first[o.id]
		if known {
			_, rest, _ := bytes.Cut(o.text[2:], []byte(":"))
			c, wrong := h.parseComm(fmt.Appendf(nil, "c:%d:%s", h.comms[i].app+1, rest))
			known = wrong == "" && h.comms[i].same(&c)
		}
		if !known {
			h.damaged(o.number, badTask)
		}
	}
}

func (h *head) damaged(line uint64, what string) {
	h.problems.Add(trace.Diagnostic{Code: trace.DiagBadDefinition, Detail: fmt.Sprintf("line %d: %s", line, what)})
}

func (c *communicator) same(o *communicator) bool {
	return c.inter == o.inter && c.a == o.a && c.b == o.b && slices.Equal(c.members, o.members)
}

// parseComm reads a communicator:
//
//	c:application:id:tasks:task:...
//	i:application:id:communicator:leader:communicator:leader
func (h *head) parseComm(line []byte) (c communicator, wrong string) {
	f := fields{b: line[2:]}
	app := f.unsigned()
	c.id = f.unsigned()
	if f.wrong == "" && app-1 >= uint64(len(h.apps)) {
		return c, badObject
	}
	c.app = uint32(app - 1)
	if line[0] == 'i' {
		return h.parseInter(c, &f)
	}
	n := f.unsigned()
	for f.wrong == "" && !f.done {
		t, ok := h.taskOf(app, f.unsigned())
		if !ok && f.wrong == "" {
			f.wrong = badTask
		}
		c.members = append(c.members, t)
	}
	if f.wrong == "" && uint64(len(c.members)) != n {
		f.wrong = badFields
	}
	return c, f.wrong
}

func (h *head) parseInter(c communicator, f *fields) (communicator, string) {
	first := f.unsigned()
	f.unsigned()
	second := f.unsigned()
	f.unsigned()
	if f.wrong != "" {
		return c, f.wrong
	}
	a, known := h.byID[commID{c.app, first}]
	b, too := h.byID[commID{c.app, second}]
	if !known || !too || h.comms[a].inter || h.comms[b].inter {
		return c, "a half that no line before it defines"
	}
	c.inter, c.a, c.b = true, a, b
	return c, ""
}

// ranks looks up ranks in communicators. Memory: 16 bytes for each member of
// those that were asked for.
type ranks struct {
	*head
	tables map[int]map[uint32]uint32
}

// of returns the rank of a task in communicator i, for an inter-communicator in
// the half it belongs to.
func (x *ranks) of(i int, task uint32) (rank uint32, ok bool) {
	c := &x.comms[i]
	if !c.inter {
		rank, ok = x.table(i)[task]
		return rank, ok
	}
	if rank, ok = x.table(c.a)[task]; !ok {
		rank, ok = x.table(c.b)[task]
	}
	return rank, ok
}

func (x *ranks) table(i int) map[uint32]uint32 {
	t, ok := x.tables[i]
	if !ok {
		t = make(map[uint32]uint32, len(x.comms[i].members))
		for r, m := range x.comms[i].members {
			if _, twice := t[m]; !twice {
				t[m] = uint32(r)
			}
		}
		x.tables[i] = t
	}
	return t
}

// worlds returns for each application the first communicator of all its tasks in
// their order, -1 if no line defines one.
func (h *head) worlds() []int {
	list := make([]int, len(h.apps))
	for i := range list {
		list[i] = -1
	}
	for i := range h.comms {
		c := &h.comms[i]
		a := &h.apps[c.app]
		if !c.inter && list[c.app] < 0 && len(c.members) == int(a.tasks) && slices.Equal(c.members, from(a.first, a.tasks)) {
			list[c.app] = i
		}
	}
	return list
}

// collective is a collective call as the record of its begin tells it.
type collective struct {
	behaviour
	comm           int // index in comms
	sent, received uint64
	root           bool // this process is
}

// collectiveOf looks for a collective call in a record. Unknown says that its
// communicator has no line.
func (h *head) collectiveOf(app uint32, pairs []pair, behaviourOf func(p pair) behaviour) (c collective, ok, unknown bool) {
	c.collective = noCollective
	id, given := uint64(0), false
	for _, p := range pairs {
		switch {
		case p.Type == typeColl && p.Value != 0:
			c.behaviour = behaviourOf(p)
		case p.Type < 50100001 || p.Type > 50100004:
		case typeOf(p.Type).use == sendBytes:
			c.sent = p.Value
		case typeOf(p.Type).use == recvBytes:
			c.received = p.Value
		case typeOf(p.Type).use == rootFlag:
			c.root = p.Value != 0
		case typeOf(p.Type).use == commArg:
			id, given = p.Value, true
		}
	}
	if c.collective == noCollective || !given {
		return c, false, false
	}
	c.comm, ok = h.byID[commID{app, id}]
	return c, ok, !ok
}
