package record

import (
	"fmt"
	"regexp"
)

// onFiles are the calls on files that move no data.
var onFiles = map[string]hook{
	"File_open": {before: "cr_clear_stack();", after: "cr_file_opened(comm, filename, filename_length, amode, *fh);"},
	"File_close": {
		before: "struct file *const old_file = cr_file_gone(fh);", after: "cr_file_closed(old_file);",
		failed: "cr_file_stays(*fh, old_file);",
	},
	"File_delete":      {after: "cr_file_deleted(filename, filename_length);"},
	"File_set_view":    {after: "cr_file_view(fh, etype); cr_file_seek(fh, 0, MPI_SEEK_SET, 0);"},
	"File_seek":        {after: "cr_file_seek(fh, offset, whence, 0);"},
	"File_seek_shared": {after: "cr_file_seek(fh, offset, whence, 1);"},
	"File_sync":        blockingIO("FILE_FLUSH | FILE_COLLECTIVE", "-1", "0", "NULL"),
}

// fileData are the names of the calls that read and write.
var fileData = regexp.MustCompile(`^File_(i?)(read|write)(_at)?(_all|_shared|_ordered)?(_begin|_end)?$`)

// blockingIO is the hook of an operation that is done when its call ends.
func blockingIO(what, offset, bytes, status string) hook {
	return hook{
		before:  "struct cr_io io = {0};",
		entered: fmt.Sprintf("io = cr_io_begin(fh, %s, %s, %s);", what, offset, bytes),
		after:   fmt.Sprintf("cr_io_end(io, %s);", status),
	}
}

// dataHook returns the hook of a call that reads or writes, from what fileData finds in its name.
func dataHook(name []string) hook {
	if name[5] == "_end" {
		return hook{after: "cr_io_end(cr_io_joined(fh), status);"}
	}
	what, offset := "0", "-1"
	if name[2] == "write" {
		what = "FILE_WRITE"
	}
	if name[3] != "" {
		offset = "offset"
	}
	if name[4] == "_all" || name[4] == "_ordered" {
		what += " | FILE_COLLECTIVE"
	}
	if name[1] != "" || name[5] != "" {
		what += " | FILE_NONBLOCKING"
	}
	h := blockingIO(what, offset, "cr_bytes(count, datatype)", "status")
	switch {
	case name[1] != "":
		h.after = "cr_io_later(*request, io);"
	case name[5] != "":
		h.after = "cr_io_split(fh, io);"
	}
	return h
}
