package view

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// A page that is opened from disk may not import modules. Its program is one text: all modules, those that are imported
// first, without the words import and export. So top-level names are different in all modules, and imports have one form:
// a list of names from one file, not renamed; a test keeps that.

var (
	importLine = regexp.MustCompile(`(?m)^import \{[^}]*\} from '\./([a-z0-9]+\.js)';\n`)
	exportWord = regexp.MustCompile(`(?m)^export (const|let|class|function|async function) `)
)

// bundle joins a module and all it imports.
func bundle(files fs.FS, main string) (string, error) {
	text := map[string]string{}
	imports := map[string][]string{}
	for list := []string{main}; len(list) > 0; list = list[1:] {
		name := list[0]
		if _, ok := text[name]; ok {
			continue
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		text[name] = string(b)
		for _, m := range importLine.FindAllStringSubmatch(text[name], -1) {
			imports[name] = append(imports[name], m[1])
			list = append(list, m[1])
		}
	}
	order, err := inOrder(main, imports)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range order {
		b.WriteString(exportWord.ReplaceAllString(importLine.ReplaceAllString(text[name], ""), "$1 "))
	}
	if strings.Contains(strings.ToLower(b.String()), "</script") {
		return "", fmt.Errorf("%s: the program of the page must not end its own element", main)
	}
	return b.String(), nil
}

// inOrder lists modules so that each is after those that it imports.
func inOrder(main string, imports map[string][]string) ([]string, error) {
	var order []string
	onPath := map[string]bool{}
	for stack := []string{main}; len(stack) > 0; {
		name := stack[len(stack)-1]
		onPath[name] = true
		k := slices.IndexFunc(imports[name], func(m string) bool { return !slices.Contains(order, m) })
		if k < 0 {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
			delete(onPath, name)
			stack = stack[:len(stack)-1]
			continue
		}
		if next := imports[name][k]; onPath[next] {
			return nil, fmt.Errorf("%s and %s import each other", name, next)
		} else {
			stack = append(stack, next)
		}
	}
	return order, nil
}
