package paraver

import (
	"bytes"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// magic begins every Paraver trace.
const magic = "#Paraver"

// header is the first line of a trace: what ran where.
type header struct {
	date       string   // of the file, as written
	length     uint64   // ticks
	resolution uint64   // ticks per second
	nodes      []uint32 // processors of each
	tasks      []task   // of all applications, in order
	apps       []application
	threads    uint32 // of all tasks
}

// application is a program of the run. Its tasks are processes.
type application struct {
	first, tasks uint32 // in header.tasks
}

// task is a process.
type task struct {
	app, number uint32 // both from 0
	first       uint32 // its first thread, in the order of the header
	threads     uint32
	node        uint32 // from 1, 0 if not known
}

// leastThreads is how many threads a header may always announce; more need a
// file that has a byte for each.
const leastThreads = 1 << 12

// parseHeader reads the first line. size is that of the file in bytes; a header that announces more
// threads than that is refused.
//
//	#Paraver (date):length[_ns|_us]:nodes[(processors,...)]:applications:app:...
//	app = tasks(threads:node,...)[,communicators]
//
// Extrae writes a comma between applications, and the number of communicators
// after the last one only: app,app,communicators.
func parseHeader(line []byte, size uint64) (*header, error) {
	if !bytes.HasPrefix(line, []byte(magic)) {
		return nil, fmt.Errorf("paraver: no line %s at the start: %w", magic, trace.ErrNotTrace)
	}
	s := scanner{b: line, at: len(magic)}
	h := &header{resolution: 1_000_000}
	for s.take(' ') {
	}
	if s.take('(') {
		n := bytes.IndexByte(s.b[s.at:], ')')
		if n < 0 {
			return nil, s.wrong("a closed date")
		}
		h.date = string(s.b[s.at : s.at+n])
		s.at += n + 1
	}
	s.expect(':')
	h.length = s.number()
	if s.take('_') {
		switch unit := s.word(); unit {
		case "ns":
			h.resolution = 1_000_000_000
		case "us":
		default:
			return nil, fmt.Errorf("paraver: header: times in %q, only ns and us are known: %w", unit, trace.ErrUnsupported)
		}
	}
	s.expect(':')
	h.readNodes(&s)
	s.expect(':')
	apps := s.number()
	for i := uint64(0); i < apps && s.err == nil; i++ {
		if s.at == 0 || s.b[s.at-1] != ',' {
			s.expect(':')
		}
		h.readApplication(&s, size)
	}
	if s.err == nil && s.b[s.at-1] == ',' {
		s.fail(fmt.Sprintf("%d applications are announced, more are listed", apps))
	}
	if s.err != nil {
		return nil, s.err
	}
	if h.threads == 0 {
		return nil, fmt.Errorf("paraver: header: no threads: %w", trace.ErrCorrupt)
	}
	return h, nil
}

// readNodes reads the number of nodes and, where it is there, the list of their
// processors.
func (h *header) readNodes(s *scanner) {
	s.number()
	if !s.take('(') {
		return
	}
	for s.err == nil && !s.take(')') {
		h.nodes = append(h.nodes, s.number32())
		s.take(',')
	}
}

func (h *header) readApplication(s *scanner, size uint64) {
	a := application{first: uint32(len(h.tasks))}
	want := s.number()
	s.expect('(')
	for s.err == nil && !s.take(')') {
		t := task{app: uint32(len(h.apps)), number: a.tasks, first: h.threads, threads: s.number32()}
		s.expect(':')
		t.node = s.number32()
		s.take(',')
		if t.threads == 0 || uint64(h.threads)+uint64(t.threads) > max(leastThreads, min(size, 1<<31)) {
			s.fail(fmt.Sprintf("task %d has %d threads, which cannot be", a.tasks+1, t.threads))
			return
		}
		h.threads += t.threads
		h.tasks = append(h.tasks, t)
		a.tasks++
	}
	if s.err == nil && uint64(a.tasks) != want {
		s.fail(fmt.Sprintf("application %d announces %d tasks and lists %d", len(h.apps)+1, want, a.tasks))
	}
	h.apps = append(h.apps, a)
	comma := s.at
	if s.take(',') {
		s.number()                               // of communicators, which have lines of their own
		if s.at < len(s.b) && s.b[s.at] == '(' { // it was of tasks: the next application
			s.at = comma + 1
		}
	}
}

// locate returns the number of a thread, counted over all tasks, from its
// numbers in a record, which count from 1.
func (h *header) locate(app, number, thread uint64) (location uint32, ok bool) {
	t, ok := h.taskOf(app, number)
	if !ok || thread-1 >= uint64(h.tasks[t].threads) {
		return 0, false
	}
	return h.tasks[t].first + uint32(thread-1), true
}

// taskOf returns the index of a task.
func (h *header) taskOf(app, number uint64) (uint32, bool) {
	if app-1 >= uint64(len(h.apps)) {
		return 0, false
	}
	a := &h.apps[app-1]
	if number-1 >= uint64(a.tasks) {
		return 0, false
	}
	return a.first + uint32(number-1), true
}

// scanner reads a short text from left to right; the first error stays.
type scanner struct {
	b   []byte
	at  int
	err error
}

func (s *scanner) take(c byte) bool {
	if s.err == nil && s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if s.err == nil && !s.take(c) {
		s.err = s.wrong(fmt.Sprintf("%q", c))
	}
}

func (s *scanner) word() string {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= 'a' && s.b[s.at] <= 'z' {
		s.at++
	}
	return string(s.b[from:s.at])
}

func (s *scanner) number() uint64 {
	if s.err != nil {
		return 0
	}
	v, n, ok := digits(s.b[s.at:])
	if !ok {
		s.err = s.wrong("a number")
	}
	s.at += n
	return v
}

func (s *scanner) number32() uint32 {
	v := s.number()
	if v > 1<<32-1 && s.err == nil {
		s.fail(fmt.Sprintf("%d is too large", v))
	}
	return uint32(v)
}

func (s *scanner) fail(what string) {
	s.err = fmt.Errorf("paraver: header: %s: %w", what, trace.ErrCorrupt)
}

func (s *scanner) wrong(want string) error {
	return fmt.Errorf("paraver: header: column %d: %s expected: %w", s.at+1, want, trace.ErrCorrupt)
}

// digits reads a decimal number at the start of b. It returns how many bytes it
// takes; ok is false where there is none or it does not fit.
func digits(b []byte) (v uint64, n int, ok bool) {
	for n < len(b) {
		d := b[n] - '0'
		if d > 9 {
			break
		}
		if v > (1<<64-1)/10 || v*10 > 1<<64-1-uint64(d) {
			return 0, n, false
		}
		v = v*10 + uint64(d)
		n++
	}
	return v, n, n > 0
}
