// Package slurm plans jobs on a cluster: how many ranks and nodes, how much memory and time a job of this tool takes, and the batch scripts
// that run it under Slurm, PBS, LSF, Flux, or mpirun alone.
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
// Fit computes a size from sizes, a rate and limits. Every limit that can decide has a name, and the result says which did. Fit does not
// measure; Calibrate measures the rate.
//
// # Scripts
//
// All schedulers get the same Job. A word of a command may have any bytes: quote converts it to one word of bash without line breaks or
// other control characters. The scheduler's directives have only values that ReadSite or Fit checked.
//
// A command that stopped with a checkpoint ends with status 75. The script then queues the job again, under the same number if the
// scheduler can do that, so that jobs that depend on it keep waiting.
//
// # Concurrency
//
// All functions are safe for concurrent use. Values do not change after they were made, except that Submit changes its Plan.
package slurm
