// Package pipeline predicts how long jobs take that work in stages on chunks, or in any other precedence graph, alone and
// together with others.
//
// A Model has centers (processors, disks, links) and types of jobs. A fixed number of jobs of each type circulates: a job runs,
// thinks for a while, and runs again. A job is a graph of tasks. Each task needs service at centers, where it competes with the
// tasks of its own job and those of other jobs. The results are the mean response of a job, throughput, utilisation and queues,
// and the effect of more chunks, servers or machines.
//
// # Methods
//
// Walk, the default, respects the graph of a job exactly: it walks through the states of one job (all of them if they are few and
// service is exponential, else samples). It takes rates from exact mean value analysis of the active tasks, and the other jobs as
// a background queue, which comes from the same model with one job less. Simulate checks it, and is the only method with
// percentiles. Tree is the method of the literature: approximate mean value analysis with overlap factors. Bounds hold for any
// law of service. Plan searches the cheapest machines for a target. For a plain network, whose jobs do one task after the other,
// walk is exact mean value analysis and tree is Schweitzer's approximation.
//
// # What always holds
//
// Times are seconds. The same model, method and seed give the same numbers on every machine and for any number of workers: random
// numbers come from PCG with logarithms of this package, sums have a fixed order, and no product is fused with a sum. A model is
// checked before memory is allocated for it (see the Max constants). An impossible model gives a *FileError, with the line if it
// came from a file. Everything is safe for concurrent use.
//
// # Memory
//
// A graph takes about 60 bytes a task of each type (not of each job), samples 8 bytes a task each, active sets at most 64 MiB for
// each group of stages that share centers. A simulation takes 4 bytes a task of every job in the system.
//
// # From traces
//
// Package extract makes a model from recorded runs.
package pipeline
