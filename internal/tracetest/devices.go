package tracetest

import (
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// NameDeviceRegions makes regions kernels, transfers and calls of HIP, by their names: *kernel, copy* and hip*.
func NameDeviceRegions(d *trace.Definitions) {
	for i := range d.Regions {
		r := &d.Regions[i]
		switch name := d.Text(r.Name); {
		case strings.HasSuffix(name, "kernel"):
			r.Role, r.Paradigm = trace.RoleKernel, trace.ParadigmHIP
		case strings.HasPrefix(name, "copy"):
			r.Role, r.Paradigm = trace.RoleDataTransfer, trace.ParadigmHIP
		case strings.HasPrefix(name, "hip"):
			r.Role, r.Paradigm = trace.RoleWrapper, trace.ParadigmHIP
		}
	}
}
