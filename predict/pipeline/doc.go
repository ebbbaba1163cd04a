// Package pipeline predicts how long jobs take that work in stages on chunks, or in any other precedence graph, alone and
// with others.
//
// A Model has centers (processors, disks, links), and types of jobs. So many jobs of each type circulate: a job runs, thinks
// for a while, and runs again. A job is a graph of tasks; each task needs service at centers, where it meets the tasks of its
// own job and those of the others. Wanted are the mean response of a job, throughput, utilisation and queues, and what more
// chunks, servers or machines would change.
//
// # Methods
//
// Walk, the default, keeps what a job's graph says exactly: it walks through the states of one job (all of them where they are
// few and service is exponential, else samples), with rates from exact mean value analysis of the active tasks, and sees the
// other jobs as a background queue, which comes from the same model with one job less. Simulate is the check, and the only
// one with percentiles. Tree is what the literature has: approximate mean value analysis with overlap factors.
// Bounds hold for any law of service. Plan searches the cheapest machines for a target. Of a plain network,
// whose jobs do one task after the other, walk is exact mean value analysis and tree is Schweitzer's approximation.
//
// # What always holds
//
// Times are seconds. The same model, method and seed give the same numbers on every machine and for any number of workers:
// random numbers come from PCG with own logarithms, sums have one order, and no product is fused with a sum. Models are
// checked before memory is taken for them (see the Max constants); an impossible one is a *FileError, with
// the line where it came from a file. Everything may be called from several goroutines at once.
//
// # Memory
//
// A graph takes about 60 bytes a task of each type (not of each job), samples 8 bytes a task each, active sets 64 MiB at most
// for each group of stages that share centers. Simulation takes 4 bytes a task of every job in the system.
//
// # From traces
//
// Package extract makes a model of what was observed of a run.
package pipeline
