package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// Options say what Run records and where it writes.
type Options struct {
	Output   string        // folder of the archive: traces.otf2, traces.def, traces/
	Command  []string      // launcher, program and their arguments
	Compiler string        // compiler wrapper of the program's MPI library; "" to find it
	Cache    string        // folder of compiled recorders
	Bytes    int64         // most bytes of the archive, shared equally by the processes; 0: no limit
	Keep     bool          // keep the recording after the archive is made
	IO       bool          // record file I/O of POSIX and of C's streams
	Part     Part          // which part of the run
	CPUTime  bool          // write the computation between MPI calls to vectors/RANK.csv
	Sites    int           // most frames of the call site of each MPI call, innermost first, up to MaxSites; 0: none
	Sample   time.Duration // processor time of a thread between samples of its call stack; 0: no samples
	Threads  string        // ThreadsNone, ThreadsOpenMP or ThreadsAll; "" means none
	Counters []string      // hardware and kernel counters read at every enter and leave, by their names in perf(1)
	Log      LogOptions
	Out, Err io.Writer
}

// Result is the outcome of a recording.
type Result struct {
	Archive   string // anchor file
	Exit      int    // status of the command
	Processes int
	Logs      []string           // receive logs that were written
	Unlogged  []int              // ranks for which a log was asked but not written
	Cut       map[int]string     // processes whose recordings have no MPI_Finalize, and why
	Found     []trace.Diagnostic // what else is missing or damaged
	Uncounted map[int]string     // processes that could not count all that was asked for, and why
	Unopened  []int              // processes whose part of the run did not begin, so that nothing is recorded
	Unasked   int                // processes of which nothing is recorded, as others were asked for
	Alone     []int              // processes for which threads were asked for but no parallel region was seen
	Runtime   string             // library that replaced GNU's OpenMP runtime, "" for none
	GNU       string             // why GNU's runtime was not replaced although the program uses it
}

// Values of Options.Threads.
const (
	ThreadsNone   = "none"
	ThreadsOpenMP = "openmp" // parallel regions of OpenMP, their barriers, locks and tasks
	ThreadsAll    = "all"    // that, POSIX threads, and their waits for each other
)

// MaxSites is the most frames of a call site.
const MaxSites = 32

// rawFolder is the folder in the output to which the processes write.
const rawFolder = "recording"

// ErrExists says that the output exists.
var ErrExists = errors.New("exists already")

// ErrCache says that the cache of compiled recorders cannot be written.
var ErrCache = errors.New("the cache of recorders")

// OutputError is an error of writing a file that the command line names as output.
type OutputError struct{ error }

func (e *OutputError) Unwrap() error { return e.error }

// written wraps an error of writing as an OutputError; nil stays nil.
func written(err error) error {
	if err == nil {
		return nil
	}
	return &OutputError{err}
}

// ErrNothing says that the command ended before anything was recorded.
var ErrNothing = errors.New("nothing was recorded")

// Run runs the command with the recorder in every rank, waits for it, and makes the archive, even if the run failed. If the command ran,
// the result has its exit status, even if there is an error too.
func Run(ctx context.Context, o Options) (*Result, error) {
	counters, err := countersText(o.Counters)
	if err != nil {
		return nil, err
	}
	part, err := o.Part.environment()
	if err != nil {
		return nil, err
	}
	var parts []string
	if o.IO {
		parts = append(parts, partFiles)
	}
	if o.Threads == ThreadsAll {
		parts = append(parts, partThreads)
	}
	cc := o.Compiler
	library := func(ctx context.Context, wrapper, folder string) (string, error) {
		cc = wrapper
		return Library(ctx, wrapper, folder, parts...)
	}
	if strings.ContainsAny(o.Cache, " :") {
		return nil, fmt.Errorf("%w: the dynamic linker loads nothing from %q, which has a space or a colon: set XDG_CACHE_HOME to another folder", ErrCompiler, o.Cache)
	}
	lib, err := compiled(ctx, library, cc, o.Command, o.Cache)
	if err != nil {
		return nil, err
	}
	raw := filepath.Join(o.Output, rawFolder)
	if err := prepare(o.Output, raw); err != nil {
		return nil, err
	}
	if raw, err = filepath.Abs(raw); err != nil {
		return nil, err
	}
	if before := os.Getenv(preload); before != "" {
		lib = before + ":" + lib
	}
	var runtime, kept string
	threads := o.Threads
	if threads == ThreadsNone {
		threads = ""
	}
	if threads != "" {
		if runtime, kept = openMPRuntime(ctx, cc, o.Command); runtime != "" {
			lib += ":" + runtime
		}
	}
	vars := variables{{preload, lib}, {"COPPICE_RECORD_DIR", raw}}
	vars.number("COPPICE_RECORD_BYTES", o.Bytes)
	vars.number("COPPICE_RECORD_CALL_SITES", int64(o.Sites))
	vars.number("COPPICE_RECORD_SAMPLE", o.Sample.Nanoseconds())
	vars.text("COPPICE_RECORD_THREADS", threads)
	vars.text("COPPICE_RECORD_COUNTERS", counters)
	vars = append(vars, part...)
	logs, err := o.Log.prepare(o.Output)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(raw))
	}
	vars = append(vars, logs...)
	if o.CPUTime {
		folder := filepath.Join(filepath.Dir(raw), vectorFolder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, written(err)
		}
		vars.text("COPPICE_RECORD_VECTORS", folder)
	}
	l, at := launcherOf(ctx, o.Command)
	args, env := withEnvironment(ctx, l, at, o.Command, vars)
	if _, file := o.Err.(*os.File); !file {
		o.Err = &shared{to: o.Err}
	}
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		if o.Part.Hang > 0 {
			watch(o.Output, raw, o.Err, done)
		}
	}()
	exit, err := start(args, env, o)
	close(done)
	<-watched
	if err == nil && !began(raw) {
		err = fmt.Errorf("%w: no process of %q came to the end of MPI_Init with the recorder%s%s", ErrNothing, strings.Join(o.Command, " "), reason(raw, exit), slots(ctx, o.Command, exit))
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(raw))
		_ = os.Remove(filepath.Join(o.Output, logFolder))
		_ = os.Remove(o.Output) // fails if it contains something else
		return &Result{Exit: exit}, err
	}
	r, err := Finish(o.Output, o.Keep)
	if r == nil {
		r = &Result{}
	}
	r.Exit, r.Runtime, r.GNU = exit, runtime, cmp.Or(kept, r.GNU)
	r.Logs, r.Unlogged = o.Log.paths(o.Output)
	return r, errors.Join(err, finishVectors(o.Output))
}

// began reports whether a process has written to a recording.
func began(raw string) bool {
	list, err := filepath.Glob(filepath.Join(raw, "*.def"))
	return err == nil && len(list) > 0
}

// reason explains why nothing was recorded: from the note that the recorder left, or because the command ended with status 0 without a
// note.
func reason(raw string, exit int) string {
	b, err := os.ReadFile(filepath.Join(raw, "note"))
	switch {
	case err != nil && exit == 0:
		return "; it does without MPI, has it linked statically, or something on its way, such as a script or env -i, takes " + preload + " or COPPICE_RECORD_DIR away"
	case err != nil:
		return ""
	case string(b) == "alone":
		return ": some of its processes waited for others, which have no recorder or could not be reached; name the launcher in the command, not in a script, and no program that is linked statically"
	case string(b) == "past":
		return ": it calls its MPI library past the recorder, by PMPI names or from a library that it loads with RTLD_DEEPBIND; call MPI names, load without that flag"
	}
	return fmt.Sprintf(": it uses %s, another MPI library than that of the recorder; give --cc the compiler wrapper of that one", b)
}

// slots returns a hint for an Open MPI launcher that failed, maybe because there were more processes than cores.
func slots(ctx context.Context, command []string, exit int) string {
	l, at := launcherOf(ctx, command)
	if exit == 0 || l != openMPILauncher {
		return ""
	}
	for i, arg := range command[:len(command)-1] {
		n, _ := strconv.Atoi(command[i+1])
		if slices.Contains([]string{"-n", "-np", "--np", "-c"}, arg) && 2*n > goruntime.NumCPU() && !slices.Contains(command, "--oversubscribe") {
			return fmt.Sprintf("; if there are not enough slots for %d processes, %s --oversubscribe starts them on fewer cores", n, command[at])
		}
	}
	return ""
}

// prepare makes the folder for the processes. It fails if there is an older archive or recording, also one that begins at the same time.
func prepare(output, raw string) error {
	for _, name := range [...]string{"traces.otf2", "traces.def", "traces"} {
		if _, err := os.Lstat(filepath.Join(output, name)); err == nil {
			return fmt.Errorf("%s: %w; choose another folder or remove it", filepath.Join(output, name), ErrExists)
		}
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return written(err)
	}
	if err := os.Mkdir(raw, 0o755); errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w: another record writes it, or was killed. Choose another folder, or, once its processes have ended, make its archive by coppice record --finish %s", raw, ErrExists, output)
	} else if err != nil {
		return written(err)
	}
	return written(os.WriteFile(filepath.Join(raw, recording.Marker), nil, 0o644))
}

// start runs the command and waits until it ends. SIGTERM and SIGHUP are passed on to it; an interrupt from the terminal reaches it anyway,
// because it is in the foreground. What was recorded until then is kept.
func start(args, env []string, o Options) (exit int, err error) {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, o.Out, o.Err
	c.Env = append(os.Environ(), env...)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	if err := c.Start(); err != nil {
		signal.Stop(signals)
		if errors.Is(err, exec.ErrNotFound) {
			return 0, fmt.Errorf("%w: %s is not in PATH: load the module of its MPI library, or install that library", ErrProgram, args[0])
		}
		return 0, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for s := range signals {
			if s != os.Interrupt {
				_ = c.Process.Signal(s) // fails if it has ended
			}
		}
	}()
	err = c.Wait()
	signal.Stop(signals)
	close(signals)
	<-passed
	return status(err)
}

// status returns the exit status of a command as a shell does: 128 plus the number of the signal that ended it.
func status(err error) (exit int, _ error) {
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if w, ok := ended.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// Finish makes the archive of a recording whose processes have ended. It replaces an archive that an earlier attempt did not complete.
func Finish(output string, keep bool) (*Result, error) {
	raw, anchor := filepath.Join(output, rawFolder), filepath.Join(output, "traces.otf2")
	if !recording.Is(raw) {
		return nil, fmt.Errorf("%s: %w: there is no recording in this folder", output, ErrNothing)
	}
	src, err := named(raw, false)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(anchor); err == nil {
		return nil, fmt.Errorf("%s: %w: the recording next to it was made an archive before", anchor, ErrExists)
	}
	// The anchor file is written last: without it the other files are not a complete archive.
	if err := errors.Join(os.RemoveAll(filepath.Join(output, "traces")), os.RemoveAll(filepath.Join(output, "traces.def"))); err != nil {
		return nil, written(err)
	}
	found, err := otf2.Copy(output, "traces", src, otf2.Options{})
	if err != nil {
		return nil, fmt.Errorf("the archive of %s: %w; the recording is kept, coppice record --finish %s tries again", raw, err, output)
	}
	r := &Result{Archive: anchor, Processes: len(src.Definitions().Processes()), Cut: src.Cut(), Uncounted: src.Uncounted(), Alone: src.Alone(), Unopened: src.Unrecorded(true), Unasked: len(src.Unrecorded(false))}
	r.Found = slices.DeleteFunc(found.List(), func(d trace.Diagnostic) bool {
		return d.Code == trace.DiagTruncated || d.Code == trace.DiagUnfinished || d.Code == trace.DiagPart
	})
	d := src.Definitions()
	if slices.ContainsFunc(d.LocationProperties, func(x trace.LocationProperty) bool {
		return d.Text(x.Name) == trace.PropertyReplaced && d.Text(x.StringValue) == trace.NotReplaced
	}) {
		r.GNU = "the program has " + gnuRuntime + " since a script started it, or since it loaded that itself; name the program in the command, or put LLVM's libomp.so.5 in LD_PRELOAD"
	}
	if !keep {
		err = written(os.RemoveAll(raw))
	}
	return r, err
}
