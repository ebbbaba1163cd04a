package slurm

import (
	"fmt"
	"strings"
)

// Quote returns a word of bash that means text, whatever bytes it holds. The word itself has no control characters, so that
// no part of it is at the start of a line, where a scheduler could take it for a directive.
func Quote(text string) string {
	plain, control := text != "", false
	for i := range len(text) {
		c := text[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("%+,-./:=@_", c) >= 0)
		control = control || c < ' ' || c == 0x7f
	}
	if plain {
		return text
	}
	if !control {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// Line joins words to a command line of bash.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Split parts a line into words as a shell does: at blanks, with quotes and backslashes, and without any expansion. It is
// the reverse of Line for words without control characters.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		case '\'', '"':
			n, err := quoted(line[i:], &word)
			if err != nil {
				return nil, err
			}
			i += n - 1
			open = true
		case '\\':
			if i++; i == len(line) {
				return nil, fmt.Errorf("%q ends with a backslash", line)
			}
			word.WriteByte(line[i])
			open = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted appends the text between the quotes that rest begins with; it returns their length.
func quoted(rest string, word *strings.Builder) (int, error) {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == rest[0]:
			return i + 1, nil
		case rest[i] == '\\' && rest[0] == '"' && i+1 < len(rest) && strings.IndexByte(`"\$`+"`", rest[i+1]) >= 0:
			i++
		}
		word.WriteByte(rest[i])
	}
	return 0, fmt.Errorf("a quote %c is not closed in %q", rest[0], rest)
}
