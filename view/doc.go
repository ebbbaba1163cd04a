// Package view is the viewer of runs: a server for a browser that shows one open file, or two to compare, and the files of its page.
// WriteStatic writes both as one file.
//
// # Answers
//
// The types in api.go are the interface to the client in assets, which consists of plain files. The server answers from pyramids and
// indexes. Time and memory of an answer depend on what is asked, not on the size of the run: a tile takes a descent for each of its rows;
// statistics of a window take two descents for each process. Lists are limited, and say if they are not complete. Numbers that are not
// exact have bounds. Times are ticks.
//
// # Who may ask
//
// A request must have a random token, name this server in Host, and come from the server's own page or from no page. Only GET and HEAD are
// allowed. See admit in server.go.
//
// # Damage
//
// A location that cannot be read is left out and listed. Other damage is an error (Failure). No file and no request can end the server.
//
// # Concurrency and memory
//
// A Server is safe for concurrent use. As many requests compute as there are cores, at least two; at most 256 others wait. A slow client
// does not delay others, and the bytes of answers that wait for clients are limited: see turns in answer.go. In addition to the cache of
// the files and Options.SendBytes, a server holds the definitions, 64 bytes for each location, 80 bytes for each of 65536 calls, the matrix
// and the tree of intervals once they were asked for, and 1 MiB for each tile in progress.
//
//	r, err := results.Open("run.xtf", xtf.Options{CacheBytes: 128 << 20})
//	s, err := view.New([]*results.Run{r}, view.Options{Tool: version})
//	p, err := view.Listen("", os.Getenv("XDG_RUNTIME_DIR"))
//	s.Announce(os.Stdout, p, view.Around{User: "ann", Host: "login1"})
//	err = s.Serve(ctx, p, 8*time.Hour)
package view
