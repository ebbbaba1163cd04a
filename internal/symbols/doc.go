// Package symbols finds the source of an address in a program or library: functions, files and lines from DWARF, including
// inlined functions; without DWARF, functions from the symbol tables. It finds separate debug files by the build id or the debug
// link, in the places where debuggers look.
//
// Files are not trusted: damaged parts give no names.
//
// Memory: the sections of DWARF of one file, which is not read above MaxDebug bytes, and its symbols of functions.
package symbols
