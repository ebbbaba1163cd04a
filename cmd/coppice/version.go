package main

import (
	"fmt"
	"runtime"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
)

func versionVerb(s streams) *cobra.Command {
	return s.does(verb("version", "print versions", 0, 0, "coppice version"), func(_ []string, s streams) error {
		_, err := fmt.Fprintf(s.out, "coppice %s\nXTF %d.%d\n%s %s/%s\n%s\n", version, xtf.Major, xtf.Minor, runtime.Version(), runtime.GOOS, runtime.GOARCH, mpi.LibraryVersion())
		return err
	})
}
