package main

import (
	"fmt"
	"runtime"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

func runVersion(args []string, s streams) error {
	if _, err := parse(flags("version", s, "coppice version"), args, 0, 0); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "coppice %s\nXTF %d.%d\n%s %s/%s\n%s\n", version, xtf.Major, xtf.Minor, runtime.Version(), runtime.GOOS, runtime.GOARCH, mpi.LibraryVersion())
	return nil
}
