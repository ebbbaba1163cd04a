// Package table has the form of a report: a Book of chapters with sentences, findings, pictures and Tables, each a value of columns
// and rows, and its printers. print.go prints text, Markdown, and as CSV the columns that have a name for programs; html.go one page
// that needs no network, with its pictures.
//
// A section fills a Table once; no section knows in what form it is printed. Rows are made when they are printed: a printed table
// holds the rows that people see, 128 bytes and its texts for each cell, and programs get row after row.
package table
