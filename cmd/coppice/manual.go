package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// described is a verb, or a part of one such as "capacity solve", as its flag set says.
type described struct {
	*verb
	name     string // of a part that of the verb too
	flags    *pflag.FlagSet
	examples []string
}

// describeVerb asks a verb for its flags. Nothing is run: --help ends a verb before its work.
func describeVerb(v *verb) described {
	d := described{verb: v, name: v.name}
	_ = v.call([]string{"--help"}, streams{out: io.Discard, err: io.Discard, describe: func(f *pflag.FlagSet, examples []string) {
		nameValues(f)
		d.flags, d.examples = f, examples
	}}) // the error says that help was asked for
	return d
}

// describePart does the same for a part of a verb.
func describePart(v, part *verb) described {
	d := describeVerb(part)
	d.name = v.name + " " + part.name
	return d
}

// describe does so for every verb and every part of one.
func describe() []described {
	var list []described
	for _, v := range verbs() {
		list = append(list, describeVerb(&v))
		for _, part := range v.parts {
			list = append(list, describePart(&v, &part))
		}
	}
	return list
}

// runManual writes a manual page for coppice and for each verb.
func runManual(args []string, s streams) error {
	f := flags("manual", s, "coppice manual /usr/local/share/man/man1", "coppice manual man && man -l man/coppice-analyze.1")
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(operands[0], 0o777); err != nil {
		return outputError("manual", err)
	}
	all := describe()
	put := func(name, text string) error {
		if err := os.WriteFile(filepath.Join(operands[0], name+".1"), []byte(text), 0o666); err != nil {
			return outputError("manual", err)
		}
		return nil
	}
	if err := put("coppice", overviewPage(all)); err != nil {
		return err
	}
	for i := range all {
		if err := put(pageName(all[i].name), verbPage(&all[i])); err != nil {
			return err
		}
	}
	return nil
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
func overviewPage(all []described) string {
	var b strings.Builder
	b.WriteString(pageHead("coppice"))
	b.WriteString(".SH NAME\ncoppice \\- analyse event traces of parallel programs\n.SH SYNOPSIS\n.B coppice\n.I VERB\n[flags] operands\n.SH VERBS\n")
	for i := range all {
		d := &all[i]
		if strings.Contains(d.name, " ") {
			continue
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s. See\n.BR coppice\\-%s (1).\n", roff(d.name), roff(d.short), roff(d.name))
	}
	for _, name := range topicNames {
		fmt.Fprintf(&b, ".SH %s\n.nf\n%s.fi\n", roff(strings.ToUpper(name)), roff(topicText(name)))
	}
	return b.String()
}

// pageName is the name of a verb's page.
func pageName(verb string) string { return "coppice-" + strings.ReplaceAll(verb, " ", "-") }

// verbPage is the page of one verb.
func verbPage(d *described) string {
	var b strings.Builder
	page := pageName(d.name)
	b.WriteString(pageHead(page))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", roff(page), roff(d.short), roff(synopsis(d.verb, d.flags)))
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.Join(d.examples, "\n")))
	if d.flags.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
	}
	d.flags.VisitAll(func(f *pflag.Flag) {
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
	for _, p := range d.parts {
		fmt.Fprintf(&b, ",\n.BR %s (1)", roff(pageName(d.name+" "+p.name)))
	}
	b.WriteString("\n")
	return b.String()
}
