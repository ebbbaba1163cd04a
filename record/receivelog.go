package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// LogOptions say which processes write a receive log, to the file logs/RANK.log in the output; see docs/format/log.md.
type LogOptions struct {
	Ranks []int
	Bytes int64 // most bytes of one log; 0: no limit
	Wtime bool  // log the results of MPI_Wtime too
}

const logFolder = "logs"

// ErrRank says that a receive log was asked for of an invalid world rank.
var ErrRank = errors.New("no world rank")

// prepare makes the folder of the logs and returns the variables for the processes.
func (l *LogOptions) prepare(output string) (variables, error) {
	if len(l.Ranks) == 0 {
		return nil, nil
	}
	folder, err := filepath.Abs(filepath.Join(output, logFolder))
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(folder); err == nil {
		return nil, fmt.Errorf("%s: %w; choose another folder or remove it", folder, ErrExists)
	}
	var ranks []string
	for _, r := range l.Ranks {
		if r < 0 {
			return nil, fmt.Errorf("%w: %d", ErrRank, r)
		}
		ranks = append(ranks, strconv.Itoa(r))
	}
	vars := variables{{"COPPICE_LOG_DIR", folder}, {"COPPICE_LOG_RANKS", strings.Join(ranks, ",")}}
	vars.number("COPPICE_LOG_BYTES", l.Bytes)
	if l.Wtime {
		vars.text("COPPICE_LOG_WTIME", "1")
	}
	return vars, written(os.MkdirAll(folder, 0o755))
}

// paths returns the logs that were written, and the ranks without one: the program does not have that rank, or the process did not complete
// MPI_Init.
func (l *LogOptions) paths(output string) (written []string, missing []int) {
	for _, r := range l.Ranks {
		name := filepath.Join(output, logFolder, strconv.Itoa(r)+".log")
		if _, err := os.Stat(name); err != nil {
			missing = append(missing, r)
			continue
		}
		written = append(written, name)
	}
	return written, missing
}
