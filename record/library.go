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

// product is a library to compile: its name, the generator of its wrappers, and patterns of its other sources.
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

// Parts of the recorder that intercept functions of the C library. They are only added on demand.
const (
	partFiles   = "posix"
	partThreads = "pthreads"
)

// Library returns the path of the recorder for the MPI library of the compiler wrapper cc (mpicc), with optional parts. It compiles the
// recorder unless folder has one whose sources, mpi.h and compiler are the same. Files that were not used for a month are removed.
func Library(ctx context.Context, cc, folder string, parts ...string) (string, error) {
	p := recorder
	for _, part := range parts {
		p.name += "-" + part
		p.sources = append(slices.Clip(p.sources), part+"/*")
	}
	return p.library(ctx, cc, folder)
}

// ReplayLibrary returns the path of the library that answers a program's MPI calls from a receive log. It is cached as Library is.
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
		sources[fmt.Sprintf("0wrappers%d.c", i)] = text // sorts first, because these take longest to compile
		fmt.Fprintf(h, "%x\n", sha256.Sum256([]byte(text)))
	}
	shared := sha256.New() // hash of what every object file depends on
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

// unused is how long files stay in the cache after their last use.
const unused = 30 * 24 * time.Hour

// used reports whether a file is in the cache, and sets its time of use. It ignores that it may not change the cache of another user.
func used(path string) bool {
	_, err := os.Stat(path)
	_ = os.Chtimes(path, time.Time{}, time.Now())
	return err == nil
}

// sweep removes files of the cache that were not used for long, and what killed builds left.
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

// header returns the preprocessed mpi.h and, if there is one, mpi-ext.h, in which Open MPI declares functions of later standards.
func header(ctx context.Context, cc string) (string, error) {
	arguments := []string{"-E", "-P", "-include", "mpi.h", "-include", "mpi-ext.h", "-x", "c", os.DevNull}
	if text, err := output(ctx, cc, arguments...); err == nil {
		return text, nil
	}
	return output(ctx, cc, slices.Delete(arguments, 4, 6)...)
}

// compile makes the shared library at path and renames it into place when it is complete. shared is the hash of what all objects depend on.
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

// compileFlags are the options for all sources. The library is loaded at program start, so its thread-local variables may use the faster
// initial-exec model.
var compileFlags = []string{"-std=gnu11", "-O2", "-fPIC", "-ftls-model=initial-exec", "-Wno-deprecated-declarations"}

// compileFiles compiles the .c files in work, one per processor at a time. Object files stay in folder under a hash of all that they depend
// on, so recorders with different parts share them.
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

// output runs a compiler and returns its standard output, or ErrCompiler with its messages.
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
