package record

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compilers are the compiler wrappers of the MPI libraries that are installed.
func compilers(t *testing.T) []string {
	if testing.Short() {
		t.Skip("compiles recorders, without -short")
	}
	var found []string
	for _, cc := range [...]string{"mpicc", "mpicc.mpich"} {
		if _, err := exec.LookPath(cc); err == nil {
			found = append(found, cc)
		}
	}
	if len(found) == 0 {
		t.Skip("no mpicc")
	}
	return found
}

// TestLibrary makes the recorder for every MPI library there is of the objects that other tests need too, and finds it when asked again.
// One with more parts has its objects.
func TestLibrary(t *testing.T) {
	t.Parallel()
	for _, cc := range compilers(t) {
		t.Run(cc, func(t *testing.T) {
			_, err := Library(t.Context(), cc, cacheFolder)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			for name := range objects(t, cacheFolder) {
				b, err := os.ReadFile(name)
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, filepath.Base(name)), b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			path, err := Library(t.Context(), cc, folder)
			if err != nil {
				t.Fatal(err)
			}
			before := objects(t, folder)
			again, err := Library(t.Context(), cc, folder)
			if err != nil || again != path {
				t.Errorf("%s and then %s, %v", path, again, err)
			}
			if _, err := Library(t.Context(), cc, folder, partFiles, partThreads); err != nil {
				t.Error(err)
			}
			for name, info := range objects(t, folder) {
				if old := before[name]; old != nil && !os.SameFile(old, info) {
					t.Errorf("%s is made again for a recorder with more parts", name)
				}
			}
		})
	}
}

// TestSweep removes what was not used for long, and nothing that is not the recorder's.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-unused - time.Hour)
	stays := map[string]bool{"coppice-record-1.so": false, "coppice-2.o": false, "build-3": false, "coppice-used.so": true, "coppice-new.o": true, "build-new": true, "axe.js": true, "coppice-x.json": true}
	for name := range stays {
		path := filepath.Join(dir, name)
		var err error
		if strings.HasPrefix(name, "build-") {
			err = errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "a.c"), nil, 0o644))
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if !strings.Contains(name, "new") {
			err = errors.Join(err, os.Chtimes(path, old, old))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !used(filepath.Join(dir, "coppice-used.so")) || used(filepath.Join(dir, "coppice-none.so")) {
		t.Error("used says what is not so")
	}
	sweep(dir)
	for name, want := range stays {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, folder := range []string{"", filepath.Join(os.DevNull, "cache")} {
		if _, err := Library(t.Context(), "mpicc", folder); !errors.Is(err, ErrCache) {
			t.Errorf("cache %q: %v", folder, err)
		}
	}
}

// objects are the compiled files of recorders in a folder.
func objects(t *testing.T, folder string) map[string]os.FileInfo {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "*.o"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no objects: %v", err)
	}
	found := map[string]os.FileInfo{}
	for _, name := range list {
		if found[name], err = os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestPrototypes(t *testing.T) {
	list, err := parsePrototypes(`
		extern int MPI_Init(int *argc, char ***argv); int MPI_Finalize(void);
		__attribute__((visibility("default"))) int MPI_Send(const void *buf, int count, MPI_Datatype datatype,
			int dest, int tag, MPI_Comm comm) __attribute__((__pointer_with_type_tag__(1,3)));
		int MPI_Waitall(int count, MPI_Request *array_of_requests, MPI_Status array_of_statuses[]);
		int MPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status);
		double MPI_Wtime(void); int MPI_T_init_thread(int required, int *provided);`)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.returns + " " + p.name + ":")
		for _, q := range p.params {
			b.WriteString(" " + q.ctype + "|" + q.name)
			if q.array {
				b.WriteString("[]")
			}
		}
		b.WriteString("\n")
	}
	const want = `int Finalize:
int Init: int*|argc char***|argv
int Send: void*|buf int|count MPI_Datatype|datatype int|dest int|tag MPI_Comm|comm
int Waitall: int|count MPI_Request|array_of_requests[] MPI_Status|array_of_statuses[]
int Waitany: int|count MPI_Request|array_of_requests[] int*|index MPI_Status*|status
double Wtime:
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if _, err := parsePrototypes("int MPI_Init(void);"); err == nil {
		t.Error("a header without MPI_Send was taken")
	}
}
