package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// Options say what to record and where.
type Options struct {
	Output   string   // folder of the archive: traces.otf2, traces.def, traces/
	Command  []string // launcher and program
	Compiler string   // wrapper of the program's MPI library; "" to find it
	Cache    string   // folder of compiled recorders
	Bytes    int64    // most bytes of events a process writes; 0: no limit
	Keep     bool     // keep the recording beside the archive
	Out, Err io.Writer
}

// Result is what a recording left.
type Result struct {
	Archive   string // anchor file
	Exit      int    // status of the command
	Processes int
	Found     []trace.Diagnostic // what is missing or was cut
}

// rawFolder is where the processes write, inside of the output.
const rawFolder = "recording"

// ErrExists says that the output is there already.
var ErrExists = errors.New("exists already")

// Run starts the command with the recorder in every rank, waits for it and makes the archive, also of a run that failed.
func Run(ctx context.Context, o Options) (*Result, error) {
	lib, err := o.library(ctx)
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
	vars := [][2]string{{"LD_PRELOAD", lib}, {"COPPICE_RECORD_DIR", raw}}
	if o.Bytes > 0 {
		vars = append(vars, [2]string{"COPPICE_RECORD_BYTES", strconv.FormatInt(o.Bytes, 10)})
	}
	args, env := withEnvironment(launcherOf(ctx, o.Command), o.Command, vars)
	exit, err := start(args, env, o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(raw))
	}
	r, err := Finish(o.Output, o.Keep)
	if err != nil {
		return nil, fmt.Errorf("the command ended with status %d: %w", exit, err)
	}
	r.Exit = exit
	return r, nil
}

func (o *Options) library(ctx context.Context) (string, error) {
	cc := o.Compiler
	if cc == "" {
		_, k, err := findProgram(ctx, o.Command)
		if err != nil {
			return "", err
		}
		if cc, err = findCompiler(ctx, k); err != nil {
			return "", err
		}
	}
	return Library(ctx, cc, o.Cache)
}

// prepare makes the folder for the processes. An older archive or recording is never touched.
func prepare(output, raw string) error {
	for _, name := range [...]string{"traces.otf2", rawFolder} {
		if _, err := os.Lstat(filepath.Join(output, name)); err == nil {
			return fmt.Errorf("%s: %w; choose another folder or remove it", filepath.Join(output, name), ErrExists)
		}
	}
	if err := os.MkdirAll(raw, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(raw, recording.Marker), nil, 0o644)
}

// start runs the command to its end. Interrupts go to the command, which is in the foreground too; what it wrote is kept.
func start(args, env []string, o Options) (exit int, err error) {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, o.Out, o.Err
	c.Env = append(os.Environ(), env...)
	interrupts := make(chan os.Signal, 8)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	err = c.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode(), nil
	case errors.As(err, &ended): // by a signal
		return 128, nil
	}
	return 0, err
}

// Finish makes the archive of a recording whose processes have ended.
func Finish(output string, keep bool) (*Result, error) {
	raw := filepath.Join(output, rawFolder)
	src, err := recording.OpenPath(raw)
	if err != nil {
		return nil, err
	}
	found, err := otf2.Copy(output, "traces", src, otf2.Options{})
	if err != nil {
		return nil, fmt.Errorf("the archive of %s: %w; the recording is kept", raw, err)
	}
	r := &Result{Archive: filepath.Join(output, "traces.otf2"), Processes: len(src.Definitions().Processes()), Found: found.List()}
	if !keep {
		err = os.RemoveAll(raw)
	}
	return r, err
}
