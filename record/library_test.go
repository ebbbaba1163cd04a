package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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

// TestLibrary makes the recorder for every MPI library there is, and finds it when asked again. One with more parts has its objects.
func TestLibrary(t *testing.T) {
	for _, cc := range compilers(t) {
		t.Run(cc, func(t *testing.T) {
			path, err := Library(t.Context(), cc, cacheFolder)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Library(t.Context(), cc, cacheFolder)
			if err != nil || again != path {
				t.Errorf("%s and then %s, %v", path, again, err)
			}
			before := objects(t)
			more, err := Library(t.Context(), cc, cacheFolder, partFiles, partThreads)
			if err == nil {
				err = os.Remove(more) // another test may have made it
			}
			if err == nil {
				_, err = Library(t.Context(), cc, cacheFolder, partFiles, partThreads)
			}
			if err != nil {
				t.Error(err)
			}
			for name, info := range objects(t) {
				if old := before[name]; old != nil && !os.SameFile(old, info) {
					t.Errorf("%s is made again for a recorder with more parts", name)
				}
			}
		})
	}
}

// objects are the compiled files of recorders.
func objects(t *testing.T) map[string]os.FileInfo {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(cacheFolder, "*.o"))
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
