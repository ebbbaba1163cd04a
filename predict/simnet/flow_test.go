package simnet

import (
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

func TestRendezvous(t *testing.T) {
	t.Parallel()
	for _, x := range rendezvousCases {
		p, v := x.script.build(t)
		for _, ring := range []int{1, 64} {
			r, err := flow(p, v, oracleNet(network.DMA), Options{Ring: ring})
			checkRendezvous(t, fmt.Sprintf("%s, ring %d", x.name, ring), x.want, r, err)
		}
	}
}
