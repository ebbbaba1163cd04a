// Package table is the form of a report. A Book has chapters of sentences, findings, pictures and Tables; a Table is a value of
// columns and rows. print.go prints books as text and Markdown, and the columns with names for programs as CSV. html.go prints
// one page with pictures that needs no network.
//
// A section fills a Table once and does not know in what form it is printed. Rows are made when they are printed. A printed table
// holds the rows that people see, 128 bytes and its texts for each cell; programs get row after row.
package table
