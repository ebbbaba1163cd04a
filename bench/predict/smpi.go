package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
)

// smpi writes a program for SimGrid's smpirun -replay into a folder: a trace for each process, their list, and a cluster
// with the parameters of the comparison where they have a counterpart.
func smpi(_ io.Writer, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("smpi FOLDER PATTERN PROCESSES ITERATIONS [...]")
	}
	folder := args[0]
	s, err := spec(args[1:])
	if err != nil {
		return err
	}
	p, c, err := workload.Make(s)
	if err != nil {
		return err
	}
	var list, hosts []byte
	for process := range p.Roots {
		path := filepath.Join(folder, strconv.Itoa(process))
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := writeSMPI(f, p, c, process); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		list = fmt.Appendln(list, path)
		hosts = fmt.Appendf(hosts, "h%d\n", process)
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{"list", list}, {"hosts", hosts}, {"cluster.xml", fmt.Appendf(nil, smpiCluster, len(p.Roots)-1)}} {
		if err := os.WriteFile(filepath.Join(folder, file.name), file.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// smpiCluster has the latency L and the bandwidth 1/G of the comparison. Each host has a link of its own in each direction,
// as LogGP has; o of LogGP is an option of smpirun.
const smpiCluster = `<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-%d" speed="1Gf" bw="166666666.67Bps" lat="1250ns"/>
</platform>
`
