// Package slurm plans jobs on a cluster: how many ranks, nodes, how much memory and time a job of this tool takes, and
// the batch scripts that run it, under Slurm, PBS, LSF, Flux, or mpirun alone. ReadNetwork reads how nodes are connected.
//
//	site, err := slurm.ReadSite("site.toml", text)  // what the computing centre says about its machine
//	size := slurm.Fit(&slurm.Work{Bytes: 20e12, Locations: 4096, Largest: 8e9}, site, 15*time.Minute)
//	job := &slurm.Job{Verb: "analyze", Size: size, Command: []string{"coppice", "analyze", ...}, Resumable: true}
//	text, err := job.Script(site, true)
//	plan := &slurm.Plan{Site: site, Known: true, Jobs: []*slurm.Job{job}}
//	err = plan.WriteText(os.Stdout)
//	err = plan.Submit(ctx)
//
// # Sizes
//
// Fit is a formula of sizes, a rate and limits; every limit that could decide has a name, and the result tells which did.
// Nothing is measured by it; Calibrate measures the rate.
//
// # Scripts
//
// All schedulers get the same Job. Words of a command may hold any byte: quote makes each one word of bash, without a
// line break or other control character in the script. What the scheduler itself reads, its directives, holds only
// values that ReadSite or Fit checked.
//
// A job that can continue ends with status 75 when it stopped with a checkpoint; the script then has itself queued
// again, under the same number where the scheduler can do that, so that jobs that depend on it go on waiting.
//
// # Concurrency
//
// All functions are safe for concurrent use. No value is changed after it was made, but a Plan by Submit.
package slurm
