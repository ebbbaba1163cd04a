// Package predict computes how long a recorded run would take on another machine. It combines its subpackages: cluster finds processes that
// compute alike, platform describes the machine, simnet simulates its network.
//
//	XTF file -> Input        the program of all processes, and the time between their calls (Open)
//	Input -> Classes         processes that call the same and compute alike (Classify)
//	CSV -> Target -> Donor   what representatives computed on the target
//	Input, Donors -> Calc    the computation of every process (Substitute)
//	TOML -> platform.Platform -> simnet.Network
//	simulated times -> Run   a trace.Source: the recorded events at their predicted times
//
// Times are integers: ticks of the recorded clock in files, picoseconds elsewhere. Ratios are exact fractions, products have 128 bits; a
// time that does not fit 63 bits is [ErrTooLong]. Results do not depend on the number of ranks.
//
// An [Input] is read-only, except for its Vectors: only one goroutine at a time may read those of a process.
//
//	in, err := predict.Open(c, file, predict.OpenOptions{})
//	p, err := platform.Open("cluster.toml")
//	network, err := p.Network(in.Processes())
//	r, err := simnet.Dataflow(ctx, c, in.First, in.End, in.Program, in.Vectors, network, simnet.Options{})
package predict
