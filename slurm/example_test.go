package slurm_test

import (
	"fmt"
	"log"
	"time"

	"github.com/coppice-hpc/coppice/slurm"
)

// 20 TB in 4096 locations are to be analysed in a quarter of an hour.
func ExampleFit() {
	site, err := slurm.ReadSite("site.toml", []byte(`schema = "coppice.site/1"
scheduler = "slurm"
cores = 64
memory_gib = 256
`))
	if err != nil {
		log.Fatal(err)
	}
	size := slurm.Fit(&slurm.Work{Bytes: 20e12, Locations: 4096, Largest: 8e9}, site, 15*time.Minute)
	job := &slurm.Job{Verb: "analyze", Size: size, Command: []string{"coppice", "analyze", "traces.otf2"}}
	fmt.Println(size.Ranks, "ranks,", size.RanksPerNode, "on a node")
	fmt.Println(job.CommandLine(site))
	// Output:
	// 2000 ranks, 64 on a node
	// srun --mpi=pmix --kill-on-bad-exit=0 coppice analyze traces.otf2
}
