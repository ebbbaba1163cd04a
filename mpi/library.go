//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Sizes in bytes.
const (
	// headSize is the number of bytes sent with a message's envelope. With our header and the library's it is below 4 KiB, up to which Open
	// MPI sends at once in shared memory.
	headSize = 3968
	// chunkSize is the most bytes of one MPI call, because counts are ints in MPI 3.
	chunkSize = 1 << 30
	// fileChunk is the most bytes of one independent file call. It holds the lock, so the rank cannot communicate meanwhile.
	fileChunk = 64 << 20
)

// grace is how long a rank that ends with an error waits for the other ranks to end too.
const grace = 10 * time.Second

// library is the MPI library of this process. mu is held during every MPI call, including gompi's. A call that may wait for another rank is
// started without blocking and then tested, and mu is free between the tests: else two ranks could wait for each other's mu.
type library struct {
	mu        sync.Mutex
	world     worldCalls // gompi; nil if our own calls do everything
	first     *mpiComm   // the communicator of all ranks
	rank      int
	size      int
	chunk     int           // chunkSize, or less in tests
	grace     time.Duration // grace, or less in tests
	ids       int           // bodies of long messages have tags firstID..ids
	nextID    int
	open      []*Request      // in progress: keeps their memory alive
	waiting   []*mpiPlane     // with pending receives
	moving    int             // MPI messages of open in progress: heads and pieces of bodies
	crowded   bool            // more ranks than processors: a rank that spins delays others
	allRung   bool            // every rank of the job can be woken by this one
	inTree    bool            // also some ranks share processors: see up
	abandoned []C.MPI_Request // barriers whose context ended
}

// firstID is the lowest tag of a message body. sysSend uses lower ones.
const firstID = 1024

// worldCalls are the calls of gompi on the world communicator. They block until all ranks have made them.
type worldCalls interface {
	rank() int
	size() int
	barrier()
	allreduce(dst, src []int64, op Op) error
}

// LibraryVersion names the MPI library of this binary.
func LibraryVersion() string {
	var buf [1024]C.char
	C.cop_version(&buf[0], C.int(len(buf)))
	first, _, _ := strings.Cut(C.GoString(&buf[0]), "\n")
	return strings.Join(strings.Fields(first), " ")
}

// Init starts MPI and returns the communicator of all ranks. It can be called once in a process.
func Init() (*World, error) {
	return initLibrary(chunkSize, grace)
}

// initLibrary is Init with limits that tests reduce.
func initLibrary(chunk int, patience time.Duration) (*World, error) {
	if C.cop_started() != 0 {
		return nil, errf("init", ErrOther, "MPI was started before in this process")
	}
	if err := prepareEnvironment(); err != nil {
		return nil, err
	}
	var enough C.int
	l := &library{chunk: chunk, grace: patience, nextID: firstID}
	if rc := C.cop_init(&enough); rc != C.MPI_SUCCESS {
		return nil, l.failure("init", rc)
	}
	if enough == 0 {
		C.cop_finalize()
		return nil, errf("init", ErrLaunch, "%s does not support calls from several threads", LibraryVersion())
	}
	l.world = newWorldCalls()
	l.rank, l.size = int(C.cop_rank(C.cop_world())), int(C.cop_size(C.cop_world()))
	if l.world != nil {
		l.rank, l.size = l.world.rank(), l.world.size()
	}
	if err := checkLaunch(l.size); err != nil {
		C.cop_finalize()
		return nil, err
	}
	l.ids = int(C.cop_tag_ub())
	if err := l.findNode(); err != nil {
		return nil, err
	}
	c, err := l.newComm(C.cop_world())
	if err != nil {
		return nil, err
	}
	c.world, l.first = l.world, c
	return &World{comm: c, finish: func(code int) int { return l.finish(c, code) }}, nil
}

// prepareEnvironment sets Open MPI's variables that are not set yet: no OMPIO; no helper process for a single rank; no network components
// if all ranks are on one node (loading them takes a tenth of MPI_Init); yield instead of spin if there are more ranks than cores. MPICH
// ignores them.
func prepareEnvironment() error {
	set := map[string]string{"OMPI_MCA_io": withoutOMPIO(os.Getenv("OMPI_MCA_io"))}
	unset := func(name, value string) {
		if os.Getenv(name) == "" {
			set[name] = value
		}
	}
	if !Launched() {
		unset("OMPI_MCA_ess_singleton_isolated", "1")
	}
	here := envInt("OMPI_COMM_WORLD_LOCAL_SIZE")
	if here > 0 && here == envInt("OMPI_COMM_WORLD_SIZE") {
		unset("OMPI_MCA_pml", "^cm,ucx")
		unset("OMPI_MCA_btl", "^tcp,openib,usnic,ofi,uct")
	}
	if here > runtime.NumCPU() {
		unset("OMPI_MCA_mpi_yield_when_idle", "1")
	}
	for name, value := range set {
		if err := os.Setenv(name, value); err != nil {
			return errf("init", ErrOther, "setting %s: %v", name, err)
		}
	}
	return nil
}

// failure converts a return code to an Error. The lock is held.
func (l *library) failure(op string, rc C.int) error {
	if rc == C.MPI_SUCCESS {
		return nil
	}
	var buf [2048]C.char
	C.cop_text(rc, &buf[0], C.int(len(buf)))
	text := strings.Join(strings.Fields(C.GoString(&buf[0])), " ")
	class, ok := classes[C.cop_class(rc)]
	if !ok {
		class = ErrOther
	}
	return &Error{Op: op, Class: class, Code: int(rc), Msg: text}
}

// classes translates the library's error classes, whose numbers differ between libraries.
var classes = map[C.int]Class{
	C.MPI_ERR_COMM:  ErrComm,
	C.MPI_ERR_RANK:  ErrRank,
	C.MPI_ERR_TAG:   ErrTag,
	C.MPI_ERR_ROOT:  ErrRoot,
	C.MPI_ERR_COUNT: ErrCount,
	C.MPI_ERR_TYPE:  ErrType,
	C.MPI_ERR_OP:    ErrOp,
	C.MPI_ERR_ARG:   ErrArg, C.MPI_ERR_BUFFER: ErrArg, C.MPI_ERR_INFO_KEY: ErrArg, C.MPI_ERR_INFO_VALUE: ErrArg,
	C.MPI_ERR_TRUNCATE:     ErrTruncate,
	C.MPI_ERR_REQUEST:      ErrRequest,
	C.MPI_ERR_NO_MEM:       ErrMemory,
	C.MPI_ERR_INTERN:       ErrInternal,
	C.MPI_ERR_IO:           ErrIO,
	C.MPI_ERR_NO_SUCH_FILE: ErrNotExist,
	C.MPI_ERR_FILE_EXISTS:  ErrExists,
	C.MPI_ERR_ACCESS:       ErrPermission,
	C.MPI_ERR_READ_ONLY:    ErrReadOnly,
	C.MPI_ERR_NO_SPACE:     ErrNoSpace, C.MPI_ERR_QUOTA: ErrNoSpace,
	C.MPI_ERR_BAD_FILE: ErrBadFile, C.MPI_ERR_FILE: ErrBadFile,
	C.MPI_ERR_FILE_IN_USE: ErrInUse,
	C.MPI_ERR_AMODE:       ErrMode,
}

// do makes one short MPI call under the lock.
func (l *library) do(op string, call func() C.int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure(op, call())
}

// abort ends the job. It waits 0.1 s first, because launchers drop what a rank has just printed. If another goroutine holds the lock for
// more than a second, it aborts without the lock, and if that does not end the process either, it exits.
func (l *library) abort(code int) {
	code &= 0xff
	if code == 0 {
		code = 1
	}
	time.AfterFunc(5*time.Second, func() { os.Exit(code) })
	time.Sleep(100 * time.Millisecond)
	for end := time.Now().Add(time.Second); !l.mu.TryLock() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	C.cop_abort(C.int(code))
	os.Exit(code)
}

// finish is World.Finish.
func (l *library) finish(c *mpiComm, code int) int {
	ctx := context.Background()
	if code != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.grace)
		defer cancel()
	}
	key := []int64{codeKey(code)}
	out := make([]int64, 1)
	var pin runtime.Pinner
	defer pin.Unpin()
	in, res := pinned(&pin, key), pinned(&pin, out)
	err := l.async(ctx, "finish", func(r *C.MPI_Request) C.int {
		return C.cop_iallreduce(in, res, 1, C.COP_MAX, C.cop_world(), r)
	})
	if ctx.Err() != nil && err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d ended with code %d, and other ranks had not ended %v later: aborting all\n",
			l.rank, l.size, code, l.grace)
		l.abort(code)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d: ending: %v\n", l.rank, l.size, err)
		l.abort(6)
	}
	l.drain()
	// All ranks drain before any finalizes: Open MPI's mpirun may hang or crash if a rank aborts while others finalize.
	err = l.async(context.Background(), "finish", func(r *C.MPI_Request) C.int { return C.cop_ibarrier(C.cop_world(), r) })
	if err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d: ending: %v\n", l.rank, l.size, err)
		l.abort(6)
	}
	err = l.do("finalize", func() C.int {
		if rc := C.cop_node_free(); rc != C.MPI_SUCCESS {
			return rc
		}
		return C.cop_finalize()
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d: %v\n", l.rank, l.size, err)
	}
	return int(out[0] & 0xff)
}

// drain completes operations that were started and never waited for. MPI_Finalize may hang otherwise.
func (l *library) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), l.grace)
	defer cancel()
	err := l.poll(ctx, false, func() (bool, error) {
		for len(l.abandoned) > 0 {
			var done C.int
			if rc := C.cop_test(&l.abandoned[0], &done); rc != C.MPI_SUCCESS {
				return true, l.failure("finalize", rc)
			}
			if done == 0 {
				return false, nil
			}
			l.abandoned = l.abandoned[1:]
		}
		return !slices.ContainsFunc(l.open, func(r *Request) bool { return r.op == "send" || r.lib.matched }), nil
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d: messages or barriers were never completed: %v\n", l.rank, l.size, err)
		l.abort(6)
	}
}

// async starts a non-blocking operation and waits for it. If ctx ends first the operation continues. Only BarrierContext and Finish use
// such a ctx, because their memory stays valid.
func (l *library) async(ctx context.Context, op string, start func(*C.MPI_Request) C.int) error {
	var h C.MPI_Request
	started := false
	err := l.poll(ctx, false, func() (bool, error) {
		if !started {
			started = true
			if rc := start(&h); rc != C.MPI_SUCCESS {
				return true, l.failure(op, rc)
			}
		}
		var done C.int
		rc := C.cop_test(&h, &done)
		return done != 0, l.failure(op, rc)
	})
	if err != nil && ctx.Err() != nil {
		l.mu.Lock()
		l.abandoned = append(l.abandoned, h)
		l.mu.Unlock()
		return &Error{Op: op, Class: ErrCancelled, Msg: "given up: " + err.Error(), err: err}
	}
	return err
}

// element is the type of elements of arrays passed to MPI.
type element interface{ byte | int64 | int32 }

// address returns the address of a slice's first element, nil for an empty slice.
func address[T element](v []T) unsafe.Pointer {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(v))
}

// pin pins a slice for C until p unpins, and returns its address.
func pin[T element](p *runtime.Pinner, v []T) unsafe.Pointer {
	if len(v) > 0 {
		p.Pin(unsafe.SliceData(v))
	}
	return address(v)
}

func pinned(p *runtime.Pinner, v []int64) *C.int64_t { return (*C.int64_t)(pin(p, v)) }

func pinnedInts(p *runtime.Pinner, v []int32) *C.int { return (*C.int)(pin(p, v)) }
