package receivelog_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace/receivelog"
)

// The first bytes tell a receive log from other files.
func ExampleRecognise() {
	fmt.Println(receivelog.Recognise([]byte("CPRLOG1\x00")), receivelog.Recognise([]byte("OTF2-Anchor")))
	// Output: true false
}
