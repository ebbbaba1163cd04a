package table

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// marks are what has a meaning in Markdown.
var marks = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "&", "&amp;", "[", "\\[", "#", "\\#", "~", "\\~")

// writeMarkdown prints for a text that others include.
func (b *Book) writeMarkdown(out io.Writer, style Style) error {
	var w strings.Builder
	for i, h := range b.Heads {
		fmt.Fprintf(&w, "%s %s\n\n", "##"[:1+min(i, 1)], marks.Replace(h))
	}
	for _, n := range b.Notes {
		fmt.Fprintf(&w, "%s\n\n", marks.Replace(n))
	}
	for _, c := range b.Chapters {
		c.markdown(&w, style, 2)
	}
	LostTable(b.Lost).markdown(&w, style)
	_, err := io.WriteString(out, strings.TrimRight(w.String(), "\n")+"\n")
	return err
}

func (c *Chapter) markdown(w *strings.Builder, style Style, level int) {
	fmt.Fprintf(w, "%s %s\n\n", strings.Repeat("#", level), marks.Replace(cmp.Or(c.Heading, c.Title)))
	if c.Heading != "" && c.Title != "" {
		fmt.Fprintf(w, "%s\n\n", marks.Replace(c.Title))
	}
	for i, b := range c.Blocks {
		switch {
		case b.Table != nil:
			b.Table.markdown(w, style)
		case b.Inner != nil:
			b.Inner.markdown(w, style, level+1)
		case b.figure != nil, b.Cards != nil, b.kind == GapLine:
		case b.kind == sentenceLine:
			fmt.Fprintf(w, "%s\n\n", marks.Replace(b.line))
		default:
			fmt.Fprintf(w, "* %s\n", marks.Replace(b.line))
			if i+1 == len(c.Blocks) || c.Blocks[i+1].kind != b.kind {
				w.WriteByte('\n')
			}
		}
	}
}

func (t *Table) markdown(w *strings.Builder, style Style) {
	limit := t.limit(cmp.Or(style.Limit, textRows))
	columns, rows := t.shown(limit, true)
	if len(columns) == 0 {
		return
	}
	for _, text := range []string{t.Title, t.Lead} {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", marks.Replace(text))
		}
	}
	head, rule := "|", "|"
	for _, c := range columns {
		head += " " + marks.Replace(c.Name) + " |"
		rule += map[bool]string{true: " --- |", false: " ---: |"}[c.AlignLeft]
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, row := range rows {
		w.WriteByte('|')
		for _, c := range row {
			fmt.Fprintf(w, " %s%s |", strings.Repeat("&emsp;", c.Level), marks.Replace(c.Text))
		}
		w.WriteByte('\n')
	}
	w.WriteByte('\n')
	for _, text := range append([]string{t.more(limit, "")}, t.Notes...) {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", marks.Replace(text))
		}
	}
}
