package recording_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/trace/recording"
)

// An empty file marks the folder in which the processes of a program write.
func ExampleIs() {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println(recording.Is(dir))
	if err := os.WriteFile(filepath.Join(dir, recording.Marker), nil, 0o666); err != nil {
		log.Fatal(err)
	}
	fmt.Println(recording.Is(dir))
	// Output:
	// false
	// true
}
