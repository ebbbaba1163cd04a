// Package view is the viewer of runs: a server of one open file, or of two runs, measured or predicted, for a browser, the files
// that the browser gets, and both as one file.
//
// # Answers
//
// The types in api.go are the contract with the client in assets, which is plain files. The server answers from pyramids
// and indexes, in time and memory that depend on what is asked, not on the size of the run: a tile is a descent for each of
// its rows and what it shows; statistics of a window are two descents for each process. Lists are bounded, and say when they
// leave something out. Approximate numbers carry bounds that hold. Times are ticks.
//
// # Who may ask
//
// Every request shows a random token, names this server in Host, and comes from its own page or none; only GET and HEAD
// exist. security.go is all of that.
//
// # Damage
//
// A location that cannot be read is left out and listed, other damage is an error in four parts. No file and no request
// makes the server end.
//
// # Concurrency and memory
//
// A Server is safe for concurrent use. As many requests compute as there are cores, at least two; others wait, 256 at most.
// No reader keeps others waiting, and what waits for readers is bounded: turns.go is all of that.
// Next to the cache of the files and Options.SendBytes it holds the definitions, 64 bytes a location, 80 bytes for each of 65536 calls, the matrix
// and the tree of intervals once asked for, and 1 MiB for each tile in progress.
//
//	r, err := results.Open("run.xtf", xtf.Options{CacheBytes: 128 << 20})
//	s, err := view.New([]*results.Run{r}, view.Options{Tool: version})
//	p, err := view.Listen("", os.Getenv("XDG_RUNTIME_DIR"))
//	s.Announce(os.Stdout, p, view.Around{User: "ann", Host: "login1"})
//	err = s.Serve(ctx, p, 8*time.Hour)
package view
