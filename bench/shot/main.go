// Shot takes pictures of pages for documents and for eyes: it opens an address in a headless Chromium, waits until the page
// says that it is drawn, and writes what is visible as PNG.
//
//	bench/tool shot [-size 1280x800] [-theme dark] [-wait EXPRESSION] [-run SCRIPT] ADDRESS FILE.png
//
// A page of the viewer says so by document.documentElement.dataset.state being ready; others need -wait true.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/coppice-hpc/coppice/bench/browser"
)

func main() {
	size := flag.String("size", "1280x800", "width and height of the page")
	theme := flag.String("theme", "light", "light or dark, as the system would say")
	wait := flag.String("wait", browser.Ready, "expression that becomes true when the page is drawn")
	script := flag.String("run", "", "script to run then, before waiting once more")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := shoot(flag.Arg(0), flag.Arg(1), *size, *theme, *wait, *script); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

func shoot(address, file, size, theme, wait, script string) error {
	var width, height int
	if _, err := fmt.Sscanf(size, "%dx%d", &width, &height); err != nil {
		return fmt.Errorf("size %q is not as 1280x800", size)
	}
	s, err := browser.Start(width, height)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Media("prefers-color-scheme", theme); err != nil {
		return err
	}
	if err := s.Open(address); err != nil {
		return err
	}
	if err := s.Wait(wait); err != nil {
		return err
	}
	if script != "" {
		if err := s.Do(script); err != nil {
			return err
		}
		if err := s.Wait(wait); err != nil {
			return err
		}
	}
	for _, p := range s.Problems() {
		fmt.Fprintln(os.Stderr, "shot:", p)
	}
	picture, err := s.Shot()
	if err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}
