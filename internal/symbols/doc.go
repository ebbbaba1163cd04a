// Package symbols tells to what in the source an address of a program or library belongs: functions, files and lines by DWARF,
// also those that were inlined, and functions by the symbol tables where there is no DWARF. Information that lies in a file
// of its own is found by the build id or the debug link, in the places where debuggers look.
//
// Files are not trusted: what is damaged has no names.
//
// Memory: the sections of DWARF of one file, which is not read above MaxDebug bytes, and its symbols of functions.
package symbols
