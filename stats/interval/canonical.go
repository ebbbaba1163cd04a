package interval

import (
	"fmt"
	"strconv"
	"strings"
)

// FlagsOf returns the flags that lead to the options which Canonical named; whole is false if they had a sidecar file, of which
// only the digest is known. Slices in ticks become nanoseconds of a clock with the given resolution, ticks per second.
func FlagsOf(canonical string, resolution uint64) (f Flags, whole bool, err error) {
	whole = true
	for rest := canonical; rest != ""; {
		word, quoted, next, err := canonicalWord(rest)
		if err != nil {
			return Flags{}, false, err
		}
		rest = next
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "markers":
			f.Markers = value
		case "interval":
			f.Intervals = append(f.Intervals, value+quoted)
		case "intervals-file":
			whole = false
		case "slice":
			f.Slice = value
			if n, ok := strings.CutSuffix(value, "ticks"); ok {
				f.Slice, err = nanoseconds(n, resolution)
			}
		case "slice-count":
			f.SliceCount, err = strconv.Atoi(value)
		case "between":
			f.Between = value
		case "fold-recursion":
			f.Fold = true
		case "marker-cost":
			f.MarkerCost = value
		case "recv-point":
			f.RecvPoint = value
		case "init":
			f.Init = value
		default:
			err = fmt.Errorf("%w: %q is not known", ErrOption, name)
		}
		if err != nil {
			return Flags{}, false, err
		}
	}
	_, err = f.Parse()
	return f, whole, err
}

// canonicalWord cuts the next option off. A quoted text at its end is returned by itself, unquoted.
func canonicalWord(s string) (word, quoted, rest string, err error) {
	end := strings.IndexAny(s, " \"")
	switch {
	case end < 0:
		return s, "", "", nil
	case s[end] == ' ':
		return s[:end], "", s[end+1:], nil
	}
	text, err := strconv.QuotedPrefix(s[end:])
	if err == nil {
		quoted, err = strconv.Unquote(text)
	}
	if err != nil {
		return "", "", "", fmt.Errorf("%w: %q: the end of the text is missing", ErrOption, s)
	}
	return s[:end], quoted, strings.TrimPrefix(s[end+len(text):], " "), nil
}

// nanoseconds converts ticks.
func nanoseconds(ticks string, resolution uint64) (string, error) {
	n, err := strconv.ParseUint(ticks, 10, 64)
	if err != nil || resolution == 0 || n > 1<<62/1_000_000_000 {
		return "", fmt.Errorf("%w: slices of %s ticks have no length in another clock", ErrOption, ticks)
	}
	return strconv.FormatUint(max(n*1_000_000_000/resolution, 1), 10) + "ns", nil
}
