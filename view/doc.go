// Package view is the viewer of runs: a server of one open file for a browser, and the files that the browser gets.
//
// The server answers from pyramids and indexes, in time and memory that depend on what is asked, not on the size of the
// run. It is read-only. The types in api.go are the contract with the client in assets, which is plain files.
package view
