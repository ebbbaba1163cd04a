package record

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Part is the part of a run that is recorded. The zero value means all of it. The recorder gets the same texts by environment variables,
// except for instants.
type Part struct {
	Ranks       string        // world ranks such as 0-15,20; other processes do not record
	Keep        int64         // bytes: only the latest events of each process are kept; 0: all
	Functions   string        // patterns of instrumented functions to record, such as solve*,!*_inner; "": all
	Hang        time.Duration // if no MPI call of a process returns for this long, the recording so far becomes an archive; 0: never
	From, Until string        // instants: 12s after MPI_Init; NAME:N, the N-th time that a region begins (Until: ends); MPI_Pcontrol(LEVEL):N
}

// LeastKeep is the smallest Part.Keep other than 0, in bytes.
const LeastKeep = 4 << 20

// ErrPart says that the values of a Part are not valid.
var ErrPart = errors.New("not a part of a run")

var (
	rankList    = regexp.MustCompile(`^[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*$`)
	controlText = regexp.MustCompile(`^MPI_Pcontrol\((-?[0-9]{1,9})\)$`)
)

// environment returns the variables that pass the part to the recorder.
func (p *Part) environment() (vars variables, err error) {
	if p.Ranks != "" && !rankList.MatchString(p.Ranks) {
		return nil, fmt.Errorf("%w: ranks %q: write 0-15,20", ErrPart, p.Ranks)
	}
	if p.Keep > 0 && p.Keep < LeastKeep {
		return nil, fmt.Errorf("%w: %d bytes of the latest events: %d at least", ErrPart, p.Keep, LeastKeep)
	}
	vars.text("COPPICE_RECORD_RANKS", p.Ranks)
	vars.text("COPPICE_RECORD_FUNCTIONS", p.Functions)
	vars.number("COPPICE_RECORD_HANG", p.Hang.Nanoseconds())
	vars.number("COPPICE_RECORD_KEEP", p.Keep)
	for _, x := range [...][2]string{{"COPPICE_RECORD_FROM", p.From}, {"COPPICE_RECORD_UNTIL", p.Until}} {
		if x[1] == "" {
			continue
		}
		text, err := instant(x[1])
		if err != nil {
			return nil, err
		}
		vars.text(x[0], text)
	}
	return vars, nil
}

// instant converts the text of an instant to the recorder's form: time=NS, level=LEVEL:N or region=N:NAME.
func instant(text string) (string, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			return "", fmt.Errorf("%w: %s is before MPI_Init", ErrPart, text)
		}
		return fmt.Sprintf("time=%d", d.Nanoseconds()), nil
	}
	name, n := text, uint64(1)
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		k, err := strconv.ParseUint(text[i+1:], 10, 62)
		if err != nil || k == 0 {
			return "", fmt.Errorf("%w: %q: write a time as 12s, or NAME:N, N from 1", ErrPart, text)
		}
		name, n = text[:i], k
	}
	if m := controlText.FindStringSubmatch(name); m != nil {
		return fmt.Sprintf("level=%s:%d", m[1], n), nil
	}
	if name == "" || len(name) > 255 {
		return "", fmt.Errorf("%w: %q has no name of a region, or a long one", ErrPart, text)
	}
	return fmt.Sprintf("region=%d:%s", n, name), nil
}
