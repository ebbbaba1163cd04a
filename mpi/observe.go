package mpi

import "context"

// OpKind is a kind of call.
type OpKind uint8

// Kinds of calls. A Gather is one operation, whatever messages it is made of.
const (
	OpSend  OpKind = iota // Send, and messages that TreeReduce sends
	OpIsend               // start of an Isend
	OpRecv                // Recv, TryRecv that got a message, and messages that TreeReduce receives
	OpBarrier
	OpBcast
	OpGather
	OpAllgather
	OpAllreduce // also the reduction of Agree
	OpGroup     // Dup, Free
	OpFile      // collective file call without data: CreateFile, Sync, Close
	OpWrite
	NumOpKinds
)

func (k OpKind) String() string {
	if k < NumOpKinds {
		return [...]string{
			"send", "isend", "recv", "barrier", "bcast", "gather", "allgather",
			"allreduce", "group", "file", "write",
		}[k]
	}
	return "unknown"
}

// Collective returns whether all ranks of the communicator make the call.
func (k OpKind) Collective() bool { return k >= OpBarrier && k <= OpFile }

// Note describes one call of a rank to an observer.
type Note struct {
	Kind OpKind
	// Comm is 0 for the observed communicator. Communicators that the rank made from it count from 1.
	Comm int
	Peer int // the other rank of a message, the root of a collective, or -1
	Tag  int // of a message; -1 for those of TreeReduce
	// Sent and Received are bytes of payload that the rank contributed, and got from others; for files, written and read. A long message
	// counts once.
	Sent, Received int64
}

// Observe returns a communicator that does what c does and calls note after every call that succeeded, in the goroutine that made it.
// Communicators made from it are observed too. c may still be used.
func Observe(c Comm, note func(Note)) Comm {
	nothing := func() {}
	return ObserveCalls(c, func(OpKind) func() { return nothing }, note)
}

// ObserveCalls is Observe that also calls begin before every call that can wait for other ranks or for a file, and end after it.
func ObserveCalls(c Comm, begin func(OpKind) (end func()), note func(Note)) Comm {
	return &observed{Comm: c, begin: begin, note: note, made: new(int)}
}

type observed struct {
	Comm
	begin func(OpKind) (end func())
	note  func(Note)
	id    int
	made  *int // communicators made so far; Dup is collective, so there is one at a time
}

func (o *observed) tell(err error, x Note) error {
	if err == nil {
		x.Comm = o.id
		o.note(x)
	}
	return err
}

// all notes a collective call without a root.
func (o *observed) all(err error, kind OpKind, sent, received int) error {
	return o.tell(err, Note{Kind: kind, Peer: -1, Sent: int64(sent), Received: int64(received)})
}

func (o *observed) Barrier() error { return o.BarrierContext(context.Background()) }

func (o *observed) BarrierContext(ctx context.Context) error {
	defer o.begin(OpBarrier)()
	return o.all(o.Comm.BarrierContext(ctx), OpBarrier, 0, 0)
}

func (o *observed) Dup() (Comm, error) {
	defer o.begin(OpGroup)()
	return o.derived(o.Comm.Dup())
}

func (o *observed) derived(c Comm, err error) (Comm, error) {
	err = o.all(err, OpGroup, 0, 0)
	*o.made++
	if err != nil {
		return nil, err
	}
	return &observed{Comm: c, begin: o.begin, note: o.note, id: *o.made, made: o.made}, nil
}

func (o *observed) Free() error {
	defer o.begin(OpGroup)()
	return o.all(o.Comm.Free(), OpGroup, 0, 0)
}

func (o *observed) Send(b []byte, to, tag int) error {
	defer o.begin(OpSend)()
	return o.tell(o.Comm.Send(b, to, tag), Note{Kind: OpSend, Peer: to, Tag: tag, Sent: int64(len(b))})
}

func (o *observed) Isend(b []byte, to, tag int) (*Request, error) {
	r, err := o.Comm.Isend(b, to, tag)
	return r, o.tell(err, Note{Kind: OpIsend, Peer: to, Tag: tag, Sent: int64(len(b))})
}

func (o *observed) received(err error, st Status) error {
	return o.tell(err, Note{Kind: OpRecv, Peer: st.Source, Tag: st.Tag, Received: int64(st.Len)})
}

func (o *observed) Recv(from, tag int) ([]byte, Status, error) {
	defer o.begin(OpRecv)()
	b, st, err := o.Comm.Recv(from, tag)
	return b, st, o.received(err, st)
}

func (o *observed) TryRecv(from, tag int) ([]byte, Status, bool, error) {
	b, st, ok, err := o.Comm.TryRecv(from, tag)
	if ok {
		err = o.received(err, st)
	}
	return b, st, ok, err
}

func (o *observed) Wait(reqs ...*Request) error {
	defer o.begin(OpRecv)()
	return o.Comm.Wait(reqs...)
}

func (o *observed) Bcast(b []byte, root int) ([]byte, error) {
	defer o.begin(OpBcast)()
	got, err := o.Comm.Bcast(b, root)
	x := Note{Kind: OpBcast, Peer: root, Received: int64(len(got))}
	if root == o.Rank() {
		x.Sent, x.Received = x.Received, 0
	}
	return got, o.tell(err, x)
}

func (o *observed) Gather(b []byte, root int) ([][]byte, error) {
	defer o.begin(OpGather)()
	got, err := o.Comm.Gather(b, root)
	return got, o.tell(err, Note{Kind: OpGather, Peer: root, Sent: int64(len(b)), Received: int64(totalLen(got))})
}

func (o *observed) Allgather(b []byte) ([][]byte, error) {
	defer o.begin(OpAllgather)()
	got, err := o.Comm.Allgather(b)
	return got, o.all(err, OpAllgather, len(b), totalLen(got))
}

func (o *observed) AllreduceInt64(v []int64, op Op) error {
	defer o.begin(OpAllreduce)()
	return o.all(o.Comm.AllreduceInt64(v, op), OpAllreduce, 8*len(v), 8*len(v))
}

func (o *observed) Agree(err error) error { return AgreeOn(o, err) }

func (o *observed) CreateFile(name string, hints map[string]string) (File, error) {
	defer o.begin(OpFile)()
	f, err := o.Comm.CreateFile(name, hints)
	if err = o.all(err, OpFile, 0, 0); err != nil {
		return nil, err
	}
	return &observedFile{f, o}, nil
}

func (o *observed) system() plane { return observedPlane{o.Comm.system(), o} }

// observedPlane notes the messages of TreeReduce and the reductions of Agree.
type observedPlane struct {
	plane
	o *observed
}

func (p observedPlane) sysSend(b []byte, to, tag int) error {
	defer p.o.begin(OpSend)()
	return p.o.tell(p.plane.sysSend(b, to, tag), Note{Kind: OpSend, Peer: to, Tag: -1, Sent: int64(len(b))})
}

func (p observedPlane) sysRecv(from, tag int) ([]byte, error) {
	defer p.o.begin(OpRecv)()
	b, err := p.plane.sysRecv(from, tag)
	return b, p.o.tell(err, Note{Kind: OpRecv, Peer: from, Tag: -1, Received: int64(len(b))})
}

func (p observedPlane) reduceMin(v int64) (int64, error) {
	defer p.o.begin(OpAllreduce)()
	v, err := p.plane.reduceMin(v)
	return v, p.o.all(err, OpAllreduce, 8, 8)
}

type observedFile struct {
	File
	o *observed
}

func (f *observedFile) WriteAt(b []byte, off int64) error {
	defer f.o.begin(OpWrite)()
	return f.o.all(f.File.WriteAt(b, off), OpWrite, len(b), 0)
}

func (f *observedFile) WriteAtAll(b []byte, off int64) error {
	defer f.o.begin(OpWrite)()
	return f.o.all(f.File.WriteAtAll(b, off), OpWrite, len(b), 0)
}

func (f *observedFile) Sync() error {
	defer f.o.begin(OpFile)()
	return f.o.all(f.File.Sync(), OpFile, 0, 0)
}

func (f *observedFile) Close() error {
	defer f.o.begin(OpFile)()
	return f.o.all(f.File.Close(), OpFile, 0, 0)
}

func totalLen(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}
