//go:build purego || !(amd64 || arm64 || riscv64 || loong64 || ppc64le)

package otf2

import "github.com/coppice-hpc/coppice/trace"

// fast leaves everything to plain.
func (d *decoder) fast(*trace.Batch, int) {}
