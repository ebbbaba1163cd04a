// Package tracetest makes small traces with known results for tests, in three ways:
//
//	src, err := tracetest.Parse(text)           // a readable table
//	src, err := tracetest.ParseCalls(table)     // a table of calls, as the golden traces of intervals are
//	src, err := script.Source()                 // lists of steps whose processes wait for each other as long as it takes
//
// [Planted] makes scripts whose wait states, delays and intervals were worked out by hand, [RandomScript] those of everything
// that scripts can do. [Damage], [FlipBit] and [Forge] change bytes as disks, copies and attackers do.
//
// A trace lies in memory. Sources are safe for concurrent use; readers belong to one goroutine each.
package tracetest
