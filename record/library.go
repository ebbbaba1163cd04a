package record

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed runtime/*.c runtime/*.h posix/*.c pthreads/*.c replayer/*.c replayer/*.h
var runtime embed.FS

// product is a library that is made: from which sources, next to the wrappers.
type product struct {
	name     string
	generate func(header string) ([]string, error)
	sources  []string
}

var (
	recorder = product{"record", generate, []string{"runtime/*"}}
	replayer = product{"replay", generateReplay, []string{
		"replayer/*", "runtime/arguments.c", "runtime/dlopen.c", "runtime/vector.[ch]", "runtime/held.[ch]", "runtime/crc.h", "runtime/hashtable.h", "runtime/fortran.h", "runtime/recorder.h",
	}}
)

// ErrCompiler says that the MPI library's C compiler wrapper cannot be used.
var ErrCompiler = errors.New("the recorder is made with the compiler of the program's MPI library, and that does not work")

// Parts of the recorder that are between the program and the C library. Without them, what they record does not pass the recorder.
const (
	partFiles   = "posix"
	partThreads = "pthreads"
)

// Library returns the path of the recorder for the MPI library that the compiler wrapper cc (mpicc) belongs to, with these parts. It is
// compiled once and kept in folder, under a name that depends on sources, header and compiler, until it was not used for a month.
func Library(ctx context.Context, cc, folder string, parts ...string) (string, error) {
	p := recorder
	for _, part := range parts {
		p.name += "-" + part
		p.sources = append(slices.Clip(p.sources), part+"/*")
	}
	return p.library(ctx, cc, folder)
}

// ReplayLibrary returns the path of the library that answers a program's MPI calls from a receive log.
func ReplayLibrary(ctx context.Context, cc, folder string) (string, error) {
	return replayer.library(ctx, cc, folder)
}

func (m *product) library(ctx context.Context, cc, folder string) (string, error) {
	if folder == "" {
		return "", written(fmt.Errorf("%w: neither XDG_CACHE_HOME nor HOME names it", ErrCache))
	}
	header, err := header(ctx, cc)
	if err != nil {
		return "", err
	}
	wrappers, err := m.generate(header)
	if err != nil {
		return "", fmt.Errorf("%s: %w", cc, err)
	}
	version, err := output(ctx, cc, "--version")
	if err != nil {
		return "", err
	}
	sources := make(map[string]string)
	h := sha256.New()
	for i, text := range wrappers {
		sources[fmt.Sprintf("0wrappers%d.c", i)] = text // first, because they take longest
		fmt.Fprintf(h, "%x\n", sha256.Sum256([]byte(text)))
	}
	shared := sha256.New() // what all objects depend on
	fmt.Fprintf(io.MultiWriter(h, shared), "%s\n%s\n%s\n%s\n", cc, version, header, compileFlags)
	for _, pattern := range m.sources {
		paths, err := fs.Glob(runtime, pattern)
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			b, err := runtime.ReadFile(path)
			if err != nil {
				return "", err
			}
			sources[filepath.Base(path)] = string(b)
			to := io.Writer(h)
			if strings.HasSuffix(path, ".h") {
				to = io.MultiWriter(h, shared)
			}
			fmt.Fprintf(to, "%s %x\n", path, sha256.Sum256(b))
		}
	}
	path := filepath.Join(folder, "coppice-"+m.name+"-"+hex.EncodeToString(h.Sum(nil)[:8])+".so")
	if used(path) {
		return path, nil
	}
	sweep(folder)
	err = compile(ctx, cc, folder, path, sources, shared.Sum(nil))
	if err != nil && !errors.Is(err, ErrCompiler) {
		err = fmt.Errorf("%w: %w", ErrCache, written(err))
	}
	return path, err
}

// unused is how long a recorder and its parts stay in the cache after their last use.
const unused = 30 * 24 * time.Hour

// used reports whether a file of the cache is there, and notes that it is used now. In a cache that others own it stays as it is.
func used(path string) bool {
	_, err := os.Stat(path)
	_ = os.Chtimes(path, time.Time{}, time.Now())
	return err == nil
}

// sweep removes recorders and parts of them that were not used for long, and what is left of builds that were killed.
func sweep(folder string) {
	list, _ := os.ReadDir(folder)
	for _, e := range list {
		name := e.Name()
		ours := strings.HasPrefix(name, "coppice-") && (strings.HasSuffix(name, ".so") || strings.HasSuffix(name, ".o")) || strings.HasPrefix(name, "build-")
		if info, err := e.Info(); ours && err == nil && time.Since(info.ModTime()) > unused {
			_ = os.RemoveAll(filepath.Join(folder, name))
		}
	}
}

// header returns what mpi.h declares, and what Open MPI has of later standards.
func header(ctx context.Context, cc string) (string, error) {
	arguments := []string{"-E", "-P", "-include", "mpi.h", "-include", "mpi-ext.h", "-x", "c", os.DevNull}
	if text, err := output(ctx, cc, arguments...); err == nil {
		return text, nil
	}
	return output(ctx, cc, slices.Delete(arguments, 4, 6)...)
}

// compile makes the shared library; it appears under its name complete or not at all. What all objects depend on is in shared.
func compile(ctx context.Context, cc, folder, path string, sources map[string]string, shared []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	objects, err := compileFiles(ctx, cc, folder, work, sources, shared)
	if err != nil {
		return err
	}
	library := filepath.Join(work, "record.so")
	if _, err := output(ctx, cc, append(append([]string{"-shared", "-o", library}, objects...), "-lpthread", "-ldl")...); err != nil {
		return err
	}
	return os.Rename(library, path)
}

// compileFlags are those of all sources. The library is there when the program starts, so the memory of its threads is at fixed
// places, which initial-exec makes use of.
var compileFlags = []string{"-std=gnu11", "-O2", "-fPIC", "-ftls-model=initial-exec", "-Wno-deprecated-declarations"}

// compileFiles compiles the sources in work that are not headers, as many at once as there are processors. Objects stay in folder, under
// names that depend on all that they are made of: recorders with other parts are made of the same ones.
func compileFiles(ctx context.Context, cc, folder, work string, sources map[string]string, shared []byte) ([]string, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), func(name string) bool { return !strings.HasSuffix(name, ".c") })
	objects, errs := make([]string, len(names)), make([]error, len(names))
	free := make(chan struct{}, goruntime.NumCPU())
	var wg sync.WaitGroup
	for i, name := range names {
		key := sha256.Sum256(fmt.Appendf(nil, "%x %s\n%s", shared, name, sources[name]))
		objects[i] = filepath.Join(folder, "coppice-"+hex.EncodeToString(key[:8])+".o")
		if used(objects[i]) {
			continue
		}
		wg.Go(func() {
			free <- struct{}{}
			made := filepath.Join(work, name+".o")
			if _, errs[i] = output(ctx, cc, append(slices.Clip(compileFlags), "-c", "-o", made, filepath.Join(work, name))...); errs[i] == nil {
				errs[i] = os.Rename(made, objects[i])
			}
			<-free
		})
	}
	wg.Wait()
	return objects, errors.Join(errs...)
}

// output runs a compiler and returns what it prints.
func output(ctx context.Context, cc string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, cc, args...)
	var errs strings.Builder
	c.Stderr = &errs
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w\n%s", ErrCompiler, cc, err, strings.TrimSpace(errs.String()))
	}
	return string(b), nil
}
