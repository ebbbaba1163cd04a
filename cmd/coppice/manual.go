package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualVerb writes a manual page for coppice and for each verb.
func manualVerb(s streams) *cobra.Command {
	c := verb("manual DIR", "write the manual pages", 1, 1, "coppice manual /usr/local/share/man/man1", "coppice manual man && man -l man/coppice-analyze.1")
	return s.does(c, func(operands []string, _ streams) error {
		if err := os.MkdirAll(operands[0], 0o777); err != nil {
			return outputError(err)
		}
		pages := map[string]string{"coppice": overviewPage(c.Root())}
		for _, v := range everyVerb(c.Root()) {
			pages[pageName(v)] = verbPage(v)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(operands[0], name+".1"), []byte(text), 0o666); err != nil {
				return outputError(err)
			}
		}
		return nil
	})
}

// roff makes text safe for a manual page: what begins with a dot or a quote would be a request, and hyphens stay hyphens.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func pageHead(name string) string {
	return fmt.Sprintf(".TH %s 1 \"\" \"coppice %s\" \"User Commands\"\n", roff(strings.ToUpper(name)), version)
}

// overviewPage is coppice(1): the verbs, the topics of help, exit status.
func overviewPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(pageHead("coppice"))
	b.WriteString(".SH NAME\ncoppice \\- analyse event traces of parallel programs\n.SH SYNOPSIS\n.B coppice\n.I VERB\n[flags] operands\n.SH VERBS\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s. See\n.BR coppice\\-%s (1).\n", roff(c.Name()), roff(c.Short), roff(c.Name()))
		}
	}
	for _, name := range topicNames {
		fmt.Fprintf(&b, ".SH %s\n.nf\n%s.fi\n", roff(strings.ToUpper(name)), roff(topicText(name)))
	}
	return b.String()
}

// pageName is the name of a verb's page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// verbPage is the page of one verb.
func verbPage(c *cobra.Command) string {
	var b strings.Builder
	page := pageName(c)
	b.WriteString(pageHead(page))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", roff(page), roff(c.Short), roff(synopsis(c)))
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(c.Long)))
	}
	if c.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
	}
	nameValues(c.Flags())
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		kind, use := pflag.UnquoteUsage(f)
		if kind != "" {
			head += " " + kind
		}
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(use, "(default") {
			use += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(head), roff(use))
	})
	b.WriteString(".SH SEE ALSO\n.BR coppice (1)")
	for _, p := range c.Commands() {
		fmt.Fprintf(&b, ",\n.BR %s (1)", roff(pageName(p)))
	}
	b.WriteString("\n")
	return b.String()
}
