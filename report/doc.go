// Package report has the sections of a report about an analysed run, an open XTF file, and puts them together: a Document is a
// value, with a form in JSON, and a book of chapters, which table.Write prints.
//
// # Packages
//
//	results      an open run: what its file has, read and added up
//	table        a table, a book of tables, and their printers: text, CSV, Markdown, HTML
//	numbers      sums, fractions, quotients and units, and how people read them
//	findings     what the run could gain, with evidence and advice
//	lookup       answers about instants and spans of time
//	verify       what check compares
//	diff         two runs side by side
//	scaling      several runs of one program
//	predicted    how long a run takes on another machine
//
// # Results
//
//	summary      characteristics of the whole program, POP efficiencies, MPI time by class, messages
//	intervals    the same for every interval, each of its executions, or a part of the run
//	waits        wait states by pattern, interval, call path and process; who causes them; the critical path
//	pop          efficiencies of POP, multiplicative and additive, of every interval
//	profile      calls, inclusive and exclusive time and bytes of every region
//	paths        the same for every chain of open regions
//	histogram    how long the calls of a region take
//	comm         messages by pair of processes, communicators, collective operations
//	ccg          what the complete call graph takes, how well it compresses and how exact it is
//	diagnostics  what was found wrong with the input: totals and first occurrences
//
// Judge of package results decides conditions about metrics.
// A Finding is a loss with its evidence, what it could gain at most, and advice.
// docs/metrics.md defines every number.
//
// Results come from integer sums that the analysis stored; divisions happen
// here. Times are ticks in values and JSON, seconds in text where the trace tells
// the resolution of its clock.
//
// # Rows and graph
//
// A file has the call graph, and rows of events unless it was analyzed with
// --events none. profile and comm come from rows where there are some (or from
// the graph, if Options.Source says so), paths, histogram, ccg and the answers of
// package lookup always from the graph. Rows and sums are exact. So are counts and
// bytes of every graph; times of a lossy one carry their bound, and each number
// how far it may be off.
//
//	run, err := results.Open("run.xtf", xtf.Options{})
//	doc, err := report.New(run, report.Options{Sections: []report.Section{report.SectionProfile}})
//	err = doc.WriteJSON(w) // one document, coppice.report/1
//	err = table.Write(w, doc, "text", table.Style{})
//
// # Tables
//
// The file of a section's values has its tables too: waits.go those of waits. A
// section fills a chapter of a book, with sentences, findings and Tables, each a value
// of columns and rows; document.go lists the sections. table.Write prints the book of
// any result in the forms of package table; a page has pictures of the ranks, the messages and the
// whole run in time. No section
// knows in what form it is printed; only a page has more of some.
//
// # Damage
//
// A location whose rows cannot be read is left out of sums over locations; its
// row in a picture stays, empty and marked. What the whole program needs and
// cannot be read is an error. The file remembers all damage that a read has met,
// and Run.Left lists it: also what a sentence or a picture did without. It is in
// Lost of a Document, a Diff and a Scaling, and decides the exit status.
//
// # Cost and memory
//
// summary reads the components and delay costs of every process, one after another, and
// 8 bytes each stay; where a section may be serial it reads what profile does. profile reads one
// row per region and location and holds 64 bytes per region; comm reads the
// channels of all locations and holds 40 bytes per pair of processes that
// communicate, twice when it is printed; diagnostics holds 16 occurrences per code. intervals holds 100 bytes
// an interval and item, of the whole run's rows alone or with --ranks, details and
// pop from each process in turn; executions take half a KiB each, 131072 of them at
// most. Of a span of time it reads a few index pages of each process. waits holds
// 100 bytes for each call path with waits, causes or a part of the critical path.
// A page reads the components of all processes five times and their tiles once, and
// holds 140 bytes for each process and 1 MiB for the matrix; package diff reads them twice
// for each run. What comes from the graph reads the shared part, which stays, and
// every location's columns, one location at a time. A printed table holds the rows
// that people see, 128 bytes and its texts for each cell; programs get row after row.
//
// # Concurrency
//
// A Run is safe for concurrent use; a Document is a value of its caller.
package report
